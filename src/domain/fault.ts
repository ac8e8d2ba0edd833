import type { DecisionId } from "./identifier.ts";

/** Every way in which a request can fail, in Covey's own words; `api` maps each to a status. */
export type FaultCode =
  | "invalid_request"
  | "unsupported_media_type"
  | "body_too_large"
  | "body_timeout"
  | "unauthorized"
  | "forbidden"
  | "model_not_found"
  | "wrong_capability"
  | "not_found"
  | "route_not_found"
  | "method_not_allowed"
  | "conflict"
  | "context_length_exceeded"
  | "not_implemented"
  | "queue_full"
  | "cooling_down"
  | "rate_limited"
  | "no_candidate"
  | "shutting_down"
  | "engine_failed"
  | "engine_loading"
  | "engine_timeout"
  | "link_failed"
  | "hub_failed"
  | "storage_failed"
  /** All memory there is would not do. */
  | "model_too_large"
  /** It would do, but others hold it now. */
  | "insufficient_memory"
  | "internal";

/** What a fault carries beyond code and message. */
export interface FaultDetail {
  /** Who spoke: this program, or the engine behind it. */
  readonly origin?: "covey" | "engine";
  /** The field of the request that was wrong. */
  readonly param?: string;
  /** When it makes sense to ask again. */
  readonly retryAfterMs?: number;
  /** The placement decision it came of. */
  readonly decision?: DecisionId;
  /** What lies behind it, for the log alone. */
  readonly cause?: unknown;
}

/**
 * A failure that a caller may be told about. The message is written for that
 * caller: it never holds a secret, a key, a path of this machine or a stack.
 */
export class Fault extends Error {
  /** Name of the class. */
  override readonly name = "Fault";
  /** What went wrong. */
  readonly code: FaultCode;
  /** Who spoke: this program, or the engine behind it. */
  readonly origin: "covey" | "engine";
  /** The field of the request that was wrong, or null. */
  readonly param: string | null;
  /** When it makes sense to ask again, or null. */
  readonly retryAfterMs: number | null;
  /** The placement decision it came of, or null. */
  readonly decision: DecisionId | null;

  /**
   * Make a fault.
   *
   * @param code What went wrong.
   * @param message What the caller is told.
   * @param detail Anything more.
   */
  constructor(code: FaultCode, message: string, detail: FaultDetail = {}) {
    super(
      message,
      detail.cause === undefined ? undefined : { cause: detail.cause },
    );
    this.code = code;
    this.origin = detail.origin ?? "covey";
    this.param = detail.param ?? null;
    this.retryAfterMs = detail.retryAfterMs ?? null;
    this.decision = detail.decision ?? null;
  }
}

/**
 * The same fault, told with the decision it came of.
 *
 * @param fault What went wrong.
 * @param decision The decision, which can be asked for.
 */
export function faultOfDecision(fault: Fault, decision: DecisionId): Fault {
  const { code, message, origin, param, retryAfterMs, cause } = fault;
  return new Fault(code, message, {
    origin,
    decision,
    ...(param === null ? {} : { param }),
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
    ...(cause === undefined ? {} : { cause }),
  });
}

/**
 * Turn anything thrown into a fault, so that nothing internal reaches a caller.
 *
 * @param thrown What was caught.
 * @returns The fault itself, or an `internal` one that keeps the cause for the log.
 */
export function faultOf(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown;
  return new Fault("internal", "Covey failed to handle this request", {
    cause: thrown,
  });
}
