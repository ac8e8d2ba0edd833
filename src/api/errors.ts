import type { Fault, FaultCode } from "../domain/mod.ts";

/** Whose error shape a path speaks. */
export type Dialect = "openai" | "anthropic" | "ollama";

/** What a fault code becomes on the wire. */
interface FaultRow {
  readonly status: number;
  /** OpenAI's `type`. */
  readonly type: string;
  /** OpenAI's own word for it, where that is not the code itself. */
  readonly code?: string;
  /** Anthropic's `type`. */
  readonly anthropic: string;
}

const BAD: Pick<FaultRow, "type" | "anthropic"> = {
  type: "invalid_request_error",
  anthropic: "invalid_request_error",
};
const LOST: Pick<FaultRow, "type" | "anthropic"> = {
  type: "invalid_request_error",
  anthropic: "not_found_error",
};
const RATE: Pick<FaultRow, "type" | "anthropic"> = {
  type: "rate_limit_error",
  anthropic: "rate_limit_error",
};
const BUSY: Pick<FaultRow, "type" | "anthropic"> = {
  type: "server_error",
  anthropic: "overloaded_error",
};
const BROKEN: Pick<FaultRow, "type" | "anthropic"> = {
  type: "server_error",
  anthropic: "api_error",
};

/** The one table from Covey's words to HTTP's. */
const ROWS: Readonly<Record<FaultCode, FaultRow>> = {
  invalid_request: { status: 400, ...BAD },
  wrong_capability: { status: 400, ...BAD },
  context_length_exceeded: { status: 400, ...BAD },
  model_too_large: { status: 400, ...BAD },
  unauthorized: {
    status: 401,
    type: "authentication_error",
    code: "invalid_api_key",
    anthropic: "authentication_error",
  },
  forbidden: {
    status: 403,
    type: "permission_error",
    anthropic: "permission_error",
  },
  model_not_found: { status: 404, ...LOST },
  not_found: { status: 404, ...LOST },
  route_not_found: { status: 404, ...LOST },
  method_not_allowed: { status: 405, ...BAD },
  body_timeout: { status: 408, ...BAD },
  conflict: { status: 409, ...BAD },
  body_too_large: {
    status: 413,
    type: "invalid_request_error",
    anthropic: "request_too_large",
  },
  unsupported_media_type: { status: 415, ...BAD },
  queue_full: { status: 429, ...RATE },
  cooling_down: { status: 429, ...RATE },
  rate_limited: { status: 429, ...RATE },
  internal: { status: 500, ...BROKEN },
  not_implemented: { status: 501, ...BROKEN },
  engine_failed: { status: 502, ...BROKEN },
  link_failed: { status: 502, ...BROKEN },
  hub_failed: { status: 502, ...BROKEN },
  no_candidate: { status: 503, ...BUSY },
  shutting_down: { status: 503, ...BUSY },
  engine_loading: { status: 503, ...BUSY },
  insufficient_memory: { status: 503, ...BUSY },
  engine_timeout: { status: 504, ...BROKEN },
  storage_failed: { status: 507, ...BROKEN },
};

/**
 * Status of a fault.
 *
 * @param code The fault's code.
 * @returns An HTTP status.
 */
export function statusOf(code: FaultCode): number {
  return ROWS[code].status;
}

/**
 * Write a fault as an answer in a dialect's own error shape. The wording is the
 * fault's message and nothing else: causes stay here.
 *
 * @param fault What went wrong.
 * @param dialect Whose shape to use.
 * @param headers Further headers, for example `allow`.
 * @returns The answer.
 */
export function faultResponse(
  fault: Fault,
  dialect: Dialect,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const row = ROWS[fault.code];
  const all = new Headers({
    "content-type": "application/json",
    "cache-control": "no-store",
    ...headers,
  });
  if (fault.decision !== null) all.set("x-covey-decision", fault.decision);
  if (row.status === 401) all.set("www-authenticate", "Bearer");
  // The official clients repeat every 5xx unless told that it is no use.
  if (row.status === 501) all.set("x-should-retry", "false");
  if (
    (row.status === 429 || row.status === 503) && fault.retryAfterMs !== null
  ) all.set("retry-after", retryAfterSeconds(fault.retryAfterMs));
  return new Response(JSON.stringify(shapeOf(fault, row, dialect)), {
    status: row.status,
    headers: all,
  });
}

/** Whole seconds, rounded up, at least 1: HTTP's finest Retry-After. */
function retryAfterSeconds(retryAfterMs: number): string {
  return String(Math.max(1, Math.ceil(retryAfterMs / 1000)));
}

function shapeOf(fault: Fault, row: FaultRow, dialect: Dialect): unknown {
  switch (dialect) {
    case "openai":
      return {
        error: {
          message: fault.message,
          type: row.type,
          param: fault.param,
          code: row.code ?? fault.code,
          origin: fault.origin,
        },
      };
    case "anthropic":
      return {
        type: "error",
        error: {
          type: row.anthropic,
          message: fault.message,
          origin: fault.origin,
        },
      };
    case "ollama":
      return { error: fault.message };
    default: {
      const never: never = dialect;
      return never;
    }
  }
}
