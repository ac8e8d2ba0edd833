import type { InferenceRequest } from "../domain/mod.ts";

/** More than any engine writes to one request. */
const MOST_CHOICES = 128;

/**
 * How many answers a request wants at once (`n`).
 *
 * @param request The request.
 * @returns 1 for nearly all.
 */
export function choicesOf(
  { needs, body }: Pick<InferenceRequest, "needs" | "body">,
): number {
  if (!needs.includes("n") || typeof body.n !== "number") return 1;
  return Math.min(Math.max(1, Math.floor(body.n)), MOST_CHOICES);
}

/** How several answers to one request are written. */
export interface ChoicePlan {
  /** Answers side by side. */
  readonly lanes: number;
  /** How often so many, one after the other. */
  readonly rounds: number;
}

/**
 * Reckon how an engine writes the answers to a request: on its own slot and on
 * what others are free, as often as it takes.
 *
 * @param choices Answers.
 * @param slots Of the device.
 * @param concurrency Sequences that run, the request's own included.
 */
export function planChoices(
  choices: number,
  slots: number,
  concurrency: number,
): ChoicePlan {
  const free = Math.max(0, slots - concurrency);
  const lanes = Math.min(choices, free + 1);
  return { lanes, rounds: Math.ceil(choices / lanes) };
}
