import { isJsonObject, type JsonValue } from "../../domain/mod.ts";
import { restOf } from "./rate_limit.ts";

/** A duration as protocol buffers write it in JSON. */
const DURATION = /^(\d{1,9}(?:\.\d{1,9})?)s$/;

/**
 * Find out from the body of a 429 when to ask again, where its head does not
 * say: Google's `RetryInfo` (google.rpc, error_details), and the headers of the
 * provider behind it that OpenRouter copies into its error.
 *
 * @param text The body.
 * @param nowMs Wall-clock time.
 * @returns Seconds as a Retry-After holds them, or null where nothing is said.
 */
export function restInBody(text: string, nowMs: number): string | null {
  let value: JsonValue;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  // Google's OpenAI route puts its error into a list.
  const whole = Array.isArray(value) ? value[0] : value;
  const error = isJsonObject(whole) ? whole.error : undefined;
  if (!isJsonObject(error)) return null;
  return retryDelayOf(error.details) ?? copiedHeadersOf(error.metadata, nowMs);
}

function retryDelayOf(details: JsonValue | undefined): string | null {
  if (!Array.isArray(details)) return null;
  for (const detail of details) {
    const delay = isJsonObject(detail) ? detail.retryDelay : undefined;
    const seconds = DURATION.exec(typeof delay === "string" ? delay : "")?.[1];
    if (seconds !== undefined) {
      return String(Math.max(1, Math.ceil(Number(seconds))));
    }
  }
  return null;
}

function copiedHeadersOf(
  metadata: JsonValue | undefined,
  nowMs: number,
): string | null {
  const copied = isJsonObject(metadata) ? metadata.headers : undefined;
  if (!isJsonObject(copied)) return null;
  const headers = new Headers();
  for (const [name, value] of Object.entries(copied)) {
    if (!/^(?:retry-after|x-ratelimit-[a-z-]+)$/i.test(name)) continue;
    if (/^[\x20-\x7e]{1,64}$/.test(String(value))) {
      headers.set(name, String(value));
    }
  }
  return headers.get("retry-after") ?? restOf(headers, nowMs);
}
