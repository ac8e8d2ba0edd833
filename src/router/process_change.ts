import type { EngineView } from "../domain/mod.ts";
import { type Breaker, ERRORS_TO_OPEN, recentErrors } from "./breaker.ts";

/** Name of the process that computes a model now, or null where none does or nobody knows. */
export type ProcessOf = (model: string) => string | null;

/** One failure, and which process it speaks against. */
export interface Blame {
  /** Monotonic. */
  readonly atMs: number;
  readonly model: string;
  /** `NO_PROCESS` where none stood when it failed; null where nobody knows. */
  readonly process: string | null;
}

/** In place of the name of a process that was gone before anybody heard its name. */
export const NO_PROCESS = "";

/** What blames say once those of gone processes are set aside. */
export interface Remaining {
  readonly breaker: Breaker;
  readonly blames: readonly Blame[];
  /** Errors of the last minute that speak against whoever stands now. */
  readonly doubts: number;
  /** Whether processes come and go there. */
  readonly isFlapping: boolean;
}

/** From so many on, processes that are gone speak against the next one too. */
const FLAPPING = 2;

/**
 * Look at failures again after a process was replaced. What its attempts met
 * says nothing of its successor: all of a gone process count as one error, and
 * as no doubt at all. But a second process gone within the minute is held
 * against the third, and the fifth opens the breaker as ever, so that one that
 * dies again and again is not tried in a tight loop. Pure.
 *
 * @param breaker The engine's breaker as its attempts left it.
 * @param blames Failures behind it, oldest first.
 * @param processOf Who stands now.
 * @param nowMs Monotonic time.
 */
export function afterProcessChange(
  breaker: Breaker,
  blames: readonly Blame[],
  processOf: ProcessOf,
  nowMs: number,
): Remaining {
  const gone = new Map<string, Blame>();
  const left: Blame[] = [];
  for (const blame of blames) {
    if (!isGone(blame, processOf)) left.push(blame);
    // One without a name may be any: each counts for itself.
    else gone.set(blame.process || `${NO_PROCESS} ${gone.size}`, blame);
  }
  const kept = [...left, ...gone.values()].toSorted((a, b) => a.atMs - b.atMs);
  const asOnce: Breaker = {
    state: "closed",
    errorsAtMs: kept.map(({ atMs }) => atMs),
  };
  const goneLately = recentErrors({
    state: "closed",
    errorsAtMs: [...gone.values()].map(({ atMs }) => atMs),
  }, nowMs);
  const isFlapping = goneLately >= FLAPPING;
  const isForgiven = gone.size > 0 && kept.length < ERRORS_TO_OPEN;
  const remaining = isForgiven ? asOnce : breaker;
  const errors = recentErrors(remaining, nowMs);
  return {
    breaker: remaining,
    blames: isForgiven ? kept : blames,
    doubts: isForgiven && !isFlapping ? errors - goneLately : errors,
    isFlapping,
  };
}

/**
 * Whether the process a failure speaks against is gone and another one stands.
 *
 * @param blame The failure.
 * @param processOf Who stands now.
 */
export function isGone(blame: Blame, processOf: ProcessOf): boolean {
  if (blame.process === null) return false;
  const current = processOf(blame.model);
  return current !== null && current !== blame.process;
}

/**
 * Name of the process that computes a model, as an engine's view has it.
 *
 * @param view The view.
 * @param model The engine's own name for the model.
 */
export function processIn(view: EngineView, model: string): string | null {
  const index = view.stated?.table ?? view.index;
  const offers = index?.named(model) ?? view.offers;
  return offers.find((offer) => offer.model === model)?.process ?? null;
}
