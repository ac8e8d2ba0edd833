import type { BreakerState, NodeId } from "../domain/mod.ts";
import {
  type Breaker,
  breakerAdmits,
  type BreakerOutcome,
  CLOSED_BREAKER,
  passBreaker,
  recentErrors,
  settleBreaker,
} from "./breaker.ts";
import type { Bar, Doubt } from "./candidate.ts";
import { extendCooldown } from "./cooldown.ts";

/** Where an engine is, for its own breaker and that of its member. */
export interface EnginePlace {
  /** Unique over all nodes. */
  readonly key: string;
  readonly node: NodeId;
}

/** What an attempt took along when it passed the breakers. */
export interface Pass {
  readonly engineProbe: number | null;
  readonly memberProbe: number | null;
}

interface Standing {
  breaker: Breaker;
  /** Monotonic; 0 for none. */
  restsUntilMs: number;
  /** When it last sent anything, monotonic. */
  aliveAtMs: number;
  /** Time that the latest error took. */
  lostMs: number;
}

const MOST_STANDINGS = 4096;

/**
 * How this entry node's attempts fared at each engine and member: breakers,
 * cooldowns, signs of life. Sole writer: the attempt loop's effects.
 */
export class Standings {
  readonly #standings = new Map<string, Standing>();
  /** Keys of those that anything may be said against: few, or none. */
  readonly #troubled = new Set<string>();

  /**
   * Whether there is nothing to say against anybody, so that a placement need
   * not ask for each.
   *
   * @param nowMs Monotonic time.
   */
  isClear(nowMs: number): boolean {
    for (const key of this.#troubled) {
      const standing = this.#standings.get(key);
      if (standing === undefined || isBlameless(standing, nowMs)) {
        this.#troubled.delete(key);
      }
    }
    return this.#troubled.size === 0;
  }

  /** What keeps an engine from being used now, or null. */
  bar(engine: EnginePlace, nowMs: number): Bar | null {
    const own = this.#standings.get(engine.key);
    if (own !== undefined && own.restsUntilMs > nowMs) {
      return { kind: "cooling_down", retryInMs: own.restsUntilMs - nowMs };
    }
    const member = this.#standings.get(engine.node);
    return barOf(own, nowMs) ?? barOf(member, nowMs);
  }

  /** How long an engine still rests after a 429, in milliseconds; 0 for not at all. */
  restsForMs(engine: EnginePlace, nowMs: number): number {
    const untilMs = this.#standings.get(engine.key)?.restsUntilMs ?? 0;
    return Math.max(0, untilMs - nowMs);
  }

  /** What failures of the last minute, there and on the way, say against an engine in use. */
  doubt(engine: EnginePlace, nowMs: number): Doubt | null {
    let errors = 0;
    let lostMs = 0;
    for (const key of [engine.key, engine.node]) {
      const standing = this.#standings.get(key);
      if (standing === undefined) continue;
      const recent = recentErrors(standing.breaker, nowMs);
      errors += recent;
      if (recent > 0) lostMs = Math.max(lostMs, standing.lostMs);
    }
    return errors === 0 ? null : { errors, lostMs };
  }

  /** State of an engine's own breaker. */
  engineBreaker(engine: EnginePlace, nowMs: number): BreakerState {
    return stateOf(this.#standings.get(engine.key), nowMs);
  }

  /** State of the breaker that covers all engines of a member. */
  memberBreaker(node: NodeId, nowMs: number): BreakerState {
    return stateOf(this.#standings.get(node), nowMs);
  }

  /** Let an attempt through; a half-open breaker counts it as its probe. */
  pass(engine: EnginePlace): Pass {
    return {
      engineProbe: this.#pass(engine.key),
      memberProbe: this.#pass(engine.node),
    };
  }

  /**
   * Take in how it ended, and what time it took.
   *
   * @returns Which breakers it opened.
   */
  settle(
    engine: EnginePlace,
    pass: Pass,
    outcome: {
      readonly engine: BreakerOutcome;
      readonly member: BreakerOutcome;
    },
    nowMs: number,
    tookMs = 0,
  ): readonly ("engine" | "member")[] {
    const own = this.#of(engine.key);
    const wasOpen = own.breaker.state === "open";
    if (outcome.engine === "error") own.lostMs = tookMs;
    own.breaker = settleBreaker(
      own.breaker,
      pass.engineProbe,
      outcome.engine,
      nowMs,
    );
    const member = this.#of(engine.node);
    const memberWasOpen = member.breaker.state === "open";
    if (outcome.member === "error") member.lostMs = tookMs;
    member.breaker = settleBreaker(
      member.breaker,
      pass.memberProbe,
      outcome.member,
      nowMs,
    );
    if (!isBlameless(own, nowMs)) this.#troubled.add(engine.key);
    if (!isBlameless(member, nowMs)) this.#troubled.add(engine.node);
    const hasOpened = !wasOpen && own.breaker.state === "open";
    const memberHasOpened = !memberWasOpen && member.breaker.state === "open";
    return [
      ...(hasOpened ? ["engine" as const] : []),
      ...(memberHasOpened ? ["member" as const] : []),
    ];
  }

  /**
   * Let an engine rest that asked for it.
   *
   * @returns How long it rests, in milliseconds.
   */
  rest(
    engine: EnginePlace,
    retryAfter: string | null,
    time: { readonly monotonicMs: number; readonly wallMs: number },
  ): number {
    const own = this.#of(engine.key);
    own.restsUntilMs = extendCooldown(own.restsUntilMs, retryAfter, time);
    this.#troubled.add(engine.key);
    return own.restsUntilMs - time.monotonicMs;
  }

  /** Note that an engine sent something. */
  alive(engine: EnginePlace, nowMs: number): void {
    this.#of(engine.key).aliveAtMs = nowMs;
  }

  /** When it last did, monotonic; 0 for never. */
  aliveAtMs(engine: EnginePlace): number {
    return this.#standings.get(engine.key)?.aliveAtMs ?? 0;
  }

  #pass(key: string): number | null {
    const standing = this.#of(key);
    const { breaker, probe } = passBreaker(standing.breaker);
    standing.breaker = breaker;
    return probe;
  }

  #of(key: string): Standing {
    let standing = this.#standings.get(key);
    if (standing === undefined) {
      standing = {
        breaker: CLOSED_BREAKER,
        restsUntilMs: 0,
        aliveAtMs: 0,
        lostMs: 0,
      };
      this.#standings.set(key, standing);
      if (this.#standings.size > MOST_STANDINGS) this.#forgetOldest();
    }
    return standing;
  }

  #forgetOldest(): void {
    for (const oldest of this.#standings.keys()) {
      this.#standings.delete(oldest);
      return;
    }
  }
}

function isBlameless(
  { breaker, restsUntilMs }: Standing,
  nowMs: number,
): boolean {
  return breaker.state === "closed" && restsUntilMs <= nowMs &&
    recentErrors(breaker, nowMs) === 0;
}

function barOf(standing: Standing | undefined, nowMs: number): Bar | null {
  if (standing === undefined) return null;
  const { breaker } = standing;
  if (breakerAdmits(breaker, nowMs)) return null;
  const retryInMs = breaker.state === "open" ? breaker.untilMs - nowMs : 1000;
  return { kind: "breaker_open", retryInMs };
}

/** An open breaker whose time is over waits for a probe: to people it is half open. */
function stateOf(standing: Standing | undefined, nowMs: number): BreakerState {
  const breaker = standing?.breaker ?? CLOSED_BREAKER;
  return breaker.state === "open" && breaker.untilMs <= nowMs
    ? "half_open"
    : breaker.state;
}
