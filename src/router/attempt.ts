import {
  type Attempt,
  type Capability,
  type Engine,
  type EngineAnswer,
  Fault,
  type FaultCode,
  type Refusal,
  type StartResult,
} from "../domain/mod.ts";
import { type AnswerFacts, readAnswer } from "./answer_facts.ts";
import { AnswerTally } from "./answer_tally.ts";
import type { AttemptGuard } from "./attempt_guard.ts";
import { AttemptStream } from "./attempt_stream.ts";
import { eventsOf } from "./cut_event.ts";
import { decodes } from "./estimate.ts";
import { MeteredBody } from "./metered_body.ts";
import { StreamRelay } from "./stream_relay.ts";
import type { WaitWatch } from "./wait_watch.ts";
import {
  collectBody,
  discardAnswer,
  endsAsJson,
  parseWhole,
  piecesOf,
} from "./whole_answer.ts";

/** An answer that is here in full. */
export interface WholeAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly retryAfter: string | null;
  readonly pieces: readonly Uint8Array[];
  readonly tally: AnswerTally;
}

/** What came of an attempt, as far as the client must wait for it. */
export type AttemptResult =
  /** A stream with its first events ready. */
  | { readonly kind: "streaming"; readonly stream: AttemptStream }
  | { readonly kind: "whole"; readonly answer: WholeAnswer }
  /** The engine says that the request itself is wrong: its words go out unchanged. */
  | { readonly kind: "rejected"; readonly answer: WholeAnswer }
  /** The engine is busy in its own words; they go out only if nobody else is left. */
  | { readonly kind: "busy"; readonly answer: WholeAnswer }
  | { readonly kind: "rate_limited"; readonly retryAfter: string | null }
  | {
    readonly kind: "refused";
    readonly reason: Refusal;
    readonly message: string;
    readonly retryAfterMs: number | null;
  }
  | {
    readonly kind: "failed";
    readonly fault: Fault;
    /** Whose breaker counts it. */
    readonly counts: "engine" | "member" | "nobody";
  }
  /** It was taken back unstarted, for an engine that is free sooner. */
  | { readonly kind: "withdrawn" }
  | { readonly kind: "cancelled" };

/** Time an attempt may take; all in milliseconds. */
export interface AttemptLimits {
  /** From the dispatch until `patientUntilMs` is asked. */
  readonly firstByteMs: number;
  readonly idleMs: number;
  /** Until when the engine deserves more patience, as a monotonic time; asked again then. */
  patientUntilMs(): number;
  /** Called with each piece the engine sends. */
  alive(): void;
  /**
   * Watch over the attempt from its acceptance to its answer.
   *
   * @param accepted How the engine took it.
   * @param leave To be called when it was taken back.
   * @returns The watch, or null where there is nothing to watch for.
   */
  watch?(accepted: Accepted, leave: () => void): WaitWatch | null;
}

/** An attempt in its engine's queue. */
export type Accepted = Extract<StartResult, { readonly kind: "accepted" }>;

/** 4xx that speak of the engine's state, not of the request. */
const BUSY_STATUSES = new Set([408, 409, 425]);
/** Always JSON, whatever else a caller may wish of the others. */
const LISTS: ReadonlySet<Capability> = new Set(["embedding", "rerank"]);
const COUNTED: ReadonlySet<FaultCode> = new Set<FaultCode>([
  "engine_failed",
  "engine_timeout",
  "link_failed",
  "internal",
]);

/**
 * Try one engine until there is something for the client: the first content of
 * a stream, or a whole answer.
 *
 * @param engine Whom to ask.
 * @param attempt What to ask.
 * @param guard Ends the attempt.
 * @param limits Time-outs.
 * @returns What came of it; failures are results, nothing is thrown.
 */
export async function runAttempt(
  engine: Engine,
  attempt: Attempt,
  guard: AttemptGuard,
  limits: AttemptLimits,
): Promise<AttemptResult> {
  let accepted = false;
  let watch: WaitWatch | null = null;
  guard.allow(
    limits.firstByteMs,
    `Engine "${engine.id}" on ${engine.nodeName} did not answer within ${
      Math.round(limits.firstByteMs / 1000)
    } s`,
    () => limits.patientUntilMs(),
  );
  try {
    const started = await guard.race(engine.start(attempt, guard.signal), done);
    if (started.kind === "refused") return started;
    accepted = true;
    watch = limits.watch?.(started, () => guard.cancel()) ?? null;
    const answer = await guard.race(
      started.answer(),
      discardAnswer,
    );
    watch?.[Symbol.dispose]();
    limits.alive();
    const result = await readHead(engine, attempt, answer, guard, limits);
    guard.relax();
    return result;
  } catch (thrown) {
    watch?.[Symbol.dispose]();
    if (guard.cancelled && !watch?.isGone) return { kind: "cancelled" };
    // The queue's own word that it let go may come before the withdrawal's.
    if (await watch?.settled()) return { kind: "withdrawn" };
    if (guard.cancelled) return { kind: "cancelled" };
    const fault = thrown instanceof Fault ? thrown : new Fault(
      "engine_failed",
      `Engine "${engine.id}" on ${engine.nodeName} failed`,
      { origin: "engine", cause: thrown },
    );
    // Before it accepted, the way to the member is as much to blame.
    const early = !accepted && fault.code !== "engine_failed";
    const counts = early ? "member" : "engine";
    return {
      kind: "failed",
      fault,
      counts: COUNTED.has(fault.code) ? counts : "nobody",
    };
  }
}

async function readHead(
  engine: Engine,
  attempt: Attempt,
  answer: EngineAnswer,
  guard: AttemptGuard,
  limits: AttemptLimits,
): Promise<AttemptResult> {
  const { status } = answer;
  if (status === 429) {
    discardAnswer(answer);
    return { kind: "rate_limited", retryAfter: answer.retryAfter };
  }
  if (status >= 400 && status < 500) {
    const kind = BUSY_STATUSES.has(status) ? "busy" : "rejected";
    const pieces = await collectBody(piecesOf(answer), guard.signal);
    return { kind, answer: wholeOf(answer, pieces, new AnswerTally()) };
  }
  if (status < 200 || status > 299) {
    discardAnswer(answer);
    throw new Fault(
      "engine_failed",
      `Engine "${engine.id}" on ${engine.nodeName} answered with status ${status}`,
      { origin: "engine" },
    );
  }
  if (
    attempt.request.stream && answer.contentType.startsWith("text/event-stream")
  ) {
    const relay = new StreamRelay(attempt.request.includeUsage);
    const source = piecesOf(answer);
    const events = source instanceof MeteredBody ? source : eventsOf(source);
    const stream = new AttemptStream(events, relay, guard, limits);
    await stream.untilContent();
    return { kind: "streaming", stream };
  }
  const pieces = await collectBody(piecesOf(answer), guard.signal);
  limits.alive();
  return {
    kind: "whole",
    answer: checkedWhole(engine, attempt, answer, pieces),
  };
}

/** Token counts are read only where there is output to count: embeddings are large. */
function checkedWhole(
  engine: Engine,
  attempt: Attempt,
  answer: EngineAnswer,
  pieces: readonly Uint8Array[],
): WholeAnswer {
  const tally = new AnswerTally();
  const { capability } = attempt.request;
  if (!answer.contentType.startsWith("application/json")) {
    return wholeOf(answer, pieces, tally);
  }
  if (decodes(capability)) {
    const facts = factsOf(answer, pieces);
    if (facts === null || facts.error !== null) {
      throw incomplete(engine, facts?.error ?? null);
    }
    tally.add(facts);
  } else if (LISTS.has(capability) && !endsAsJson(pieces)) {
    throw incomplete(engine, null);
  }
  return wholeOf(answer, pieces, tally);
}

function incomplete(engine: Engine, why: string | null): Fault {
  return new Fault(
    "engine_failed",
    `Engine "${engine.id}" on ${engine.nodeName} gave no complete answer` +
      (why === null ? "" : `: ${why}`),
    { origin: "engine" },
  );
}

/** This node's own engines are read along, so that there is nothing to read again. */
function factsOf(
  { source }: EngineAnswer,
  pieces: readonly Uint8Array[],
): AnswerFacts | null {
  if (source instanceof MeteredBody && source.meter.whole !== undefined) {
    return source.meter.whole;
  }
  const json = parseWhole(pieces);
  return json === undefined ? null : readAnswer(json);
}

function wholeOf(
  answer: EngineAnswer,
  pieces: readonly Uint8Array[],
  tally: AnswerTally,
): WholeAnswer {
  const { status, contentType, retryAfter } = answer;
  return { status, contentType, retryAfter, pieces, tally };
}

function done(): void {}
