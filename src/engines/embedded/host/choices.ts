import { z } from "zod";
import type { JsonObject } from "../../../domain/mod.ts";
import { checkFields } from "./field_check.ts";
import { invalidField } from "./request_error.ts";
import { type Sampling, SEEDS } from "./sampling.ts";

/** Answers that one request may ask for. */
export const MOST_CHOICES = 16;

const COUNT =
  `this engine gives from 1 to ${MOST_CHOICES} answers to one request`;

const fields = z.object({
  n: z.int({ error: COUNT }).min(1, { error: COUNT })
    .max(MOST_CHOICES, { error: COUNT }).nullish(),
  best_of: z.int().nullish(),
});

/**
 * Read how many answers a request wants.
 *
 * @param body The request.
 * @returns At least 1.
 * @throws {RequestError} When it is none, more than 16, or only the best of several is wanted.
 */
export function parseChoices(body: JsonObject): number {
  const { n, best_of: tries } = checkFields(fields, body);
  const count = n ?? 1;
  if ((tries ?? count) === count) return count;
  throw invalidField(
    "best_of",
    `This engine shows every answer that it writes: "best_of" must be ${count}, as "n" is, not ${tries}; leave it out`,
  );
}

/**
 * The sampling of one of several answers: each has the next seed, so that the
 * answer `index` of a request with seed s is that of a request with seed
 * s + index alone. At temperature 0 all of them are equal.
 *
 * @param sampling As the request has it.
 * @param index From 0.
 */
export function samplingOf(sampling: Sampling, index: number): Sampling {
  return index === 0
    ? sampling
    : { ...sampling, seed: (sampling.seed + index) % SEEDS };
}
