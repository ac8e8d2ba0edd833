import { isJsonObject, type JsonObject } from "../../../domain/mod.ts";
import type { Clock } from "../../../platform/mod.ts";
import { RequestError } from "./request_error.ts";

/** Largest body that is read, in bytes. */
export const MAX_BODY_BYTES = 64 * 1024 * 1024;
const BODY_TIMEOUT_MS = 60_000;

/**
 * Read a request's body as a JSON object.
 *
 * @param request The request.
 * @param clock Bounds the wait.
 * @returns The body.
 * @throws {RequestError} When it is too large, too slow, or no JSON object.
 */
export async function readBody(
  request: Request,
  clock: Clock,
): Promise<JsonObject> {
  const text = await readText(request, clock);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (problem) {
    const said = problem instanceof Error ? problem.message : String(problem);
    throw new RequestError(400, `The body is no JSON: ${said.split("\n")[0]}`, {
      param: "body",
    });
  }
  const value = body as JsonObject[string];
  if (isJsonObject(value)) return value;
  throw new RequestError(400, "The body must be a JSON object", {
    param: "body",
  });
}

async function readText(request: Request, clock: Clock): Promise<string> {
  if (request.body === null) return "";
  using deadline = clock.deadline(BODY_TIMEOUT_MS, request.signal);
  const reader = request.body.getReader();
  const onTimeout = () => void reader.cancel(deadline.signal.reason);
  deadline.signal.addEventListener("abort", onTimeout, { once: true });
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  while (true) {
    const { done, value } = await reader.read();
    if (deadline.signal.aborted) {
      throw new RequestError(408, "The body did not arrive in time");
    }
    if (done) return text + decoder.decode();
    size += value.length;
    if (size > MAX_BODY_BYTES) {
      await reader.cancel();
      throw new RequestError(
        413,
        `The body is larger than ${MAX_BODY_BYTES} bytes`,
      );
    }
    text += decoder.decode(value, { stream: true });
  }
}
