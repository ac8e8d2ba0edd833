import { readBoundedText } from "./bounded_json.ts";
import { restOf } from "./rate_limit.ts";
import { restInBody } from "./rest_in_body.ts";

/** Enough for any error that is worth reading. */
const MOST_ERROR_BYTES = 256 * 1024;
const LEAST_ERROR = 400;
const RATE_LIMITED = 429;
const REFUSED_KEYS: ReadonlySet<number> = new Set([401, 403]);

/**
 * Take over a server's response: nothing of its head but status, type and when
 * to ask again (the body is decoded already, so its encoding and length are no
 * longer true), and no error that holds the key.
 *
 * @param response The response; its body is used up where it is an error.
 * @param key Key that the call was made with, or null.
 * @param nowMs Wall-clock time.
 */
export async function adoptResponse(
  response: Response,
  key: string | null,
  nowMs: number,
): Promise<Response> {
  const { status } = response;
  const headers = new Headers();
  const type = response.headers.get("content-type");
  if (type !== null) headers.set("content-type", type);
  const rest = response.headers.get("retry-after") ??
    (status === RATE_LIMITED ? restOf(response.headers, nowMs) : null);
  if (rest !== null) headers.set("retry-after", rest);
  const mayTellRest = status === RATE_LIMITED && rest === null;
  if (status < LEAST_ERROR || (key === null && !mayTellRest)) {
    return new Response(response.body, { status, headers });
  }
  if (REFUSED_KEYS.has(status)) {
    await response.body?.cancel();
    // The caller's own key is not the one that was refused.
    return errorResponse(502, "The provider refused the key of this node");
  }
  const text = await readBoundedText(response, MOST_ERROR_BYTES);
  if (text === null) {
    return errorResponse(status, `The provider answered ${status}`);
  }
  const told = mayTellRest ? restInBody(text, nowMs) : null;
  if (told !== null) headers.set("retry-after", told);
  return new Response(key === null ? text : text.replaceAll(key, "[key]"), {
    status,
    headers,
  });
}

function errorResponse(status: number, message: string): Response {
  return Response.json(
    { error: { message, type: "upstream_error", param: null, code: null } },
    { status },
  );
}
