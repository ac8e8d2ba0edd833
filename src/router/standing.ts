import type { BreakerState, NodeId } from "../domain/mod.ts";
import {
  type Breaker,
  breakerAdmits,
  CLOSED_BREAKER,
  ERROR_WINDOW_MS,
  ERRORS_TO_OPEN,
  recentErrors,
} from "./breaker.ts";
import type { Bar } from "./candidate.ts";
import {
  afterProcessChange,
  type Blame,
  isGone,
  type ProcessOf,
  type Remaining,
} from "./process_change.ts";

/** Where an engine is, for its own breaker and that of its member. */
export interface EnginePlace {
  /** Unique over all nodes. */
  readonly key: string;
  readonly node: NodeId;
  /** Which process computes one of its models now, or null; absent where nobody knows. */
  process?(model: string): string | null;
}

/** Whom an attempt met: a model, and the process that computed it or null where nobody knows. */
export type Met = Omit<Blame, "atMs">;

/** How attempts fared at one engine, or on the way to one member. */
export interface Standing {
  breaker: Breaker;
  /** Failures behind the breaker, oldest first. */
  blames: readonly Blame[];
  /** Monotonic; 0 for none. */
  restsUntilMs: number;
  /** Who asked for that rest, or null. */
  rested: Blame | null;
  /** When it last sent anything, monotonic. */
  aliveAtMs: number;
  /** Time that the latest error took. */
  lostMs: number;
}

/** Of an attempt that met no process with a name. */
export const NOBODY_MET: Met = { model: "", process: null };

const MOST_BLAMES = 64;
const NOBODY: ProcessOf = () => null;

/** Whether there is nothing to say against it, whatever its processes. */
export function isBlameless(
  { breaker, restsUntilMs }: Standing,
  nowMs: number,
): boolean {
  return breaker.state === "closed" && restsUntilMs <= nowMs &&
    recentErrors(breaker, nowMs) === 0;
}

function processOf(engine: EnginePlace): ProcessOf {
  return engine.process === undefined
    ? NOBODY
    : (model) => engine.process?.(model) ?? null;
}

/** What stands against an engine now that its processes may be others. */
export function remaining(
  own: Standing,
  engine: EnginePlace,
  nowMs: number,
): Remaining {
  const { blames, breaker } = own;
  if (blames.length === 0) {
    const doubts = recentErrors(breaker, nowMs);
    return { breaker, blames, doubts, isFlapping: false };
  }
  return afterProcessChange(
    breaker,
    blames,
    processOf(engine),
    nowMs,
  );
}

/** Whether a rest is over because who asked for it is gone. */
export function hasRested(
  own: Standing,
  engine: EnginePlace,
  nowMs: number,
): boolean {
  return own.rested !== null && isGone(own.rested, processOf(engine)) &&
    !remaining(own, engine, nowMs).isFlapping;
}

/** Keep what `remaining` comes to: what follows is counted from there. */
export function forgive(
  own: Standing,
  engine: EnginePlace,
  nowMs: number,
): void {
  if (own.blames.length === 0 && own.rested === null) return;
  if (hasRested(own, engine, nowMs)) own.restsUntilMs = 0;
  if (own.restsUntilMs <= nowMs) own.rested = null;
  const { breaker, blames } = remaining(own, engine, nowMs);
  own.breaker = breaker;
  own.blames = blames;
}

/** Enough of each process to open the breaker, and no more. */
export function withBlame(
  { breaker, blames }: Standing,
  blame: Blame,
): readonly Blame[] {
  const ofSame = blames.filter(({ model, process }) =>
    model === blame.model && process === blame.process
  );
  const tooMany = ofSame.length < ERRORS_TO_OPEN ? undefined : ofSame[0];
  return [
    ...blames.filter((one) =>
      one !== tooMany &&
      // A breaker that is not closed rests on older ones.
      (breaker.state !== "closed" || one.atMs > blame.atMs - ERROR_WINDOW_MS)
    ),
    blame,
  ].slice(-MOST_BLAMES);
}

/** What an open breaker keeps an engine from, or null. */
export function barOf(breaker: Breaker, nowMs: number): Bar | null {
  if (breakerAdmits(breaker, nowMs)) return null;
  const retryInMs = breaker.state === "open" ? breaker.untilMs - nowMs : 1000;
  return { kind: "breaker_open", retryInMs };
}

/** An open breaker whose time is over waits for a probe: to people it is half open. */
export function stateOf(
  breaker: Breaker | undefined = CLOSED_BREAKER,
  nowMs: number,
): BreakerState {
  return breaker.state === "open" && breaker.untilMs <= nowMs
    ? "half_open"
    : breaker.state;
}
