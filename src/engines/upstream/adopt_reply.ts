import { type HttpReply, replyOf } from "../http_client.ts";
import { readBoundedText } from "./bounded_json.ts";
import { restOf } from "./rate_limit.ts";
import { restInBody } from "./rest_in_body.ts";
import { mayBeUnready, unreadyFault } from "./unready.ts";

/** Enough for any error that is worth reading. */
const MOST_ERROR_BYTES = 256 * 1024;
const LEAST_ERROR = 400;
const RATE_LIMITED = 429;
const REFUSED_KEYS: ReadonlySet<number> = new Set([401, 403]);

/**
 * Take over a server's reply. Where it is an error, it says when to ask again
 * as a Retry-After does, and no key.
 *
 * @param reply The reply; its body is used up where it is an error.
 * @param key Key that the call was made with, or null.
 * @param nowMs Wall-clock time.
 * @throws {Fault} `engine_loading` or `queue_full` where the server can not answer just now.
 */
export async function adoptReply(
  reply: HttpReply,
  key: string | null,
  nowMs: number,
): Promise<HttpReply> {
  const { body, headers, status } = reply;
  if (status < LEAST_ERROR) return reply;
  const rest = headers.get("retry-after") ??
    (status === RATE_LIMITED ? restOf(headers, nowMs) : null);
  const mayTellRest = status === RATE_LIMITED && rest === null;
  const isUnsure = mayTellRest || mayBeUnready(status);
  if (key === null && !isUnsure) return withRest(reply, rest);
  if (REFUSED_KEYS.has(status)) {
    await body.cancel(null);
    // The caller's own key is not the one that was refused.
    return errorReply(502, "The provider refused the key of this node");
  }
  const text = await readBoundedText(body, MOST_ERROR_BYTES);
  if (text === null) {
    return errorReply(status, `The provider answered ${status}`);
  }
  if (mayBeUnready(status)) {
    const fault = unreadyFault(status, text, rest);
    if (fault !== null) throw fault;
  }
  const type = headers.get("content-type");
  const error = replyOf(
    new Response(key === null ? text : text.replaceAll(key, "[key]"), {
      status,
      headers: type === null ? {} : { "content-type": type },
    }),
  );
  return withRest(error, mayTellRest ? restInBody(text, nowMs) : rest);
}

function withRest(reply: HttpReply, rest: string | null): HttpReply {
  const { headers } = reply;
  return {
    ...reply,
    headers: {
      get: (name) =>
        name.toLowerCase() === "retry-after" ? rest : headers.get(name),
    },
  };
}

function errorReply(status: number, message: string): HttpReply {
  return replyOf(
    Response.json(
      { error: { message, type: "upstream_error", param: null, code: null } },
      { status },
    ),
  );
}
