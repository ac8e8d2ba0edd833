import type { BreakerState, NodeId } from "../domain/mod.ts";
import {
  type BreakerOutcome,
  CLOSED_BREAKER,
  passBreaker,
  recentErrors,
  settleBreaker,
} from "./breaker.ts";
import type { Bar, Doubt } from "./candidate.ts";
import { extendCooldown } from "./cooldown.ts";
import {
  barOf,
  type EnginePlace,
  forgive,
  hasRested,
  isBlameless,
  type Met,
  NOBODY_MET,
  remaining,
  type Standing,
  stateOf,
  withBlame,
} from "./standing.ts";

export type { EnginePlace, Met } from "./standing.ts";

/** What an attempt took along when it passed the breakers. */
export interface Pass {
  readonly engineProbe: number | null;
  readonly memberProbe: number | null;
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
    const restsForMs = this.restsForMs(engine, nowMs);
    if (restsForMs > 0) return { kind: "cooling_down", retryInMs: restsForMs };
    const own = this.#standings.get(engine.key);
    const member = this.#standings.get(engine.node);
    return (own === undefined
      ? null
      : barOf(remaining(own, engine, nowMs).breaker, nowMs)) ??
      (member === undefined ? null : barOf(member.breaker, nowMs));
  }

  /** How long an engine still rests after a 429, in milliseconds; 0 for not at all. */
  restsForMs(engine: EnginePlace, nowMs: number): number {
    const own = this.#standings.get(engine.key);
    if (own === undefined || own.restsUntilMs <= nowMs) return 0;
    return hasRested(own, engine, nowMs) ? 0 : own.restsUntilMs - nowMs;
  }

  /** What failures of the last minute, there and on the way, say against an engine in use. */
  doubt(engine: EnginePlace, nowMs: number): Doubt | null {
    const own = this.#standings.get(engine.key);
    const member = this.#standings.get(engine.node);
    const atEngine = own === undefined
      ? 0
      : remaining(own, engine, nowMs).doubts;
    const onTheWay = member === undefined
      ? 0
      : recentErrors(member.breaker, nowMs);
    if (atEngine + onTheWay === 0) return null;
    return {
      errors: atEngine + onTheWay,
      lostMs: Math.max(
        atEngine > 0 ? own?.lostMs ?? 0 : 0,
        onTheWay > 0 ? member?.lostMs ?? 0 : 0,
      ),
    };
  }

  /** State of an engine's own breaker. */
  engineBreaker(engine: EnginePlace, nowMs: number): BreakerState {
    const own = this.#standings.get(engine.key);
    return stateOf(own && remaining(own, engine, nowMs).breaker, nowMs);
  }

  /** State of the breaker that covers all engines of a member. */
  memberBreaker(node: NodeId, nowMs: number): BreakerState {
    return stateOf(this.#standings.get(node)?.breaker, nowMs);
  }

  /** Let an attempt through; a half-open breaker counts it as its probe. */
  pass(engine: EnginePlace, nowMs: number): Pass {
    const own = this.#of(engine.key);
    forgive(own, engine, nowMs);
    return {
      engineProbe: passOne(own),
      memberProbe: passOne(this.#of(engine.node)),
    };
  }

  /**
   * Take in how it ended, and what time it took.
   *
   * @param met Whom it met.
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
    met: Met = NOBODY_MET,
  ): readonly ("engine" | "member")[] {
    const own = this.#of(engine.key);
    forgive(own, engine, nowMs);
    const before = own.breaker.state;
    const wasOpen = before === "open";
    const wasOpenOrHalf = before !== "closed";
    if (outcome.engine === "error") {
      own.lostMs = tookMs;
      own.blames = withBlame(own, { ...met, atMs: nowMs });
    }
    own.breaker = settleBreaker(
      own.breaker,
      pass.engineProbe,
      outcome.engine,
      nowMs,
    );
    if (wasOpenOrHalf && stateOf(own.breaker, nowMs) === "closed") {
      own.blames = [];
    }
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
    met: Met = NOBODY_MET,
  ): number {
    const own = this.#of(engine.key);
    forgive(own, engine, time.monotonicMs);
    own.rested = { ...met, atMs: time.monotonicMs };
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

  #of(key: string): Standing {
    let standing = this.#standings.get(key);
    if (standing === undefined) {
      standing = {
        breaker: CLOSED_BREAKER,
        blames: [],
        restsUntilMs: 0,
        rested: null,
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

function passOne(standing: Standing): number | null {
  const { breaker, probe } = passBreaker(standing.breaker);
  standing.breaker = breaker;
  return probe;
}
