import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../domain/mod.ts";

const LONGEST_MESSAGE = 1000;
const LONGEST_RETRY_SECONDS = 86_400;

/**
 * Put an engine's error into OpenAI's shape and mark it as the engine's. Only
 * message, type, param and code are kept, and from the message goes whatever
 * looks like a key, a path of the machine or a stack.
 *
 * @param status The engine's status.
 * @param bytes The engine's body.
 * @returns The value of OpenAI's `error`.
 */
export function engineError(status: number, bytes: Uint8Array): JsonObject {
  const text = new TextDecoder().decode(bytes);
  const value = parse(text);
  // Google's OpenAI route puts its error into a list.
  const given = detailOf(Array.isArray(value) ? value[0] : value, text);
  return {
    message: given.message === ""
      ? `The engine answered with status ${status}`
      : given.message,
    type: given.type ??
      (status < 500 ? "invalid_request_error" : "server_error"),
    param: given.param,
    code: given.code,
    origin: "engine",
  };
}

interface Detail {
  readonly message: string;
  readonly type: string | null;
  readonly param: string | null;
  readonly code: string | number | null;
}

/** Engines write `{error:{message,…}}`, `{error:"…"}`, `{message}`, `{detail}` or plain text. */
function detailOf(value: JsonValue | undefined, text: string): Detail {
  if (!isJsonObject(value)) {
    const html = /^\s*</.test(text);
    return {
      message: html ? "" : redact(text),
      type: null,
      param: null,
      code: null,
    };
  }
  const error = isJsonObject(value.error) ? value.error : value;
  const message = [value.error, error.message, error.detail]
    .find((one) => typeof one === "string") ?? "";
  const { code } = error;
  return {
    message: redact(message),
    type: shortText(error.type),
    param: shortText(error.param),
    code: typeof code === "number" ? code : shortText(code),
  };
}

function shortText(value: JsonValue | undefined): string | null {
  return typeof value === "string" && value.length <= 100 ? value : null;
}

function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    // Plain text is a form that engines use too.
    return undefined;
  }
}

const STACK = /\n\s+at [\s\S]*$|\nTraceback [\s\S]*$/;
const UNIX_PATH =
  /(?<![\w:/.])\/(?:home|root|users|var|tmp|opt|usr|etc|mnt|media|srv|private|library|volumes|data|app|run|snap)\/[^\s"'`,;)]+/gi;
const WINDOWS_PATH = /\b[a-z]:\\[^\s"'`,;)]+/gi;
const KEY =
  /\b(?:sk|gsk|hf|csk|AIza|xai)[-_][A-Za-z0-9_-]{8,}|\bAIza[\w-]{20,}|(?<=bearer )\S+/gi;

function redact(message: string): string {
  return message
    .replace(STACK, "")
    .replace(UNIX_PATH, "[path]")
    .replace(WINDOWS_PATH, "[path]")
    .replace(KEY, "[key]")
    .trim()
    .slice(0, LONGEST_MESSAGE);
}

/**
 * Read an engine's Retry-After.
 *
 * @param header Seconds or an HTTP date, or null.
 * @param nowMs Wall-clock time.
 * @returns Whole seconds, rounded up and at most a day, or null where it says nothing usable.
 */
export function retryAfterOf(
  header: string | null,
  nowMs: number,
): number | null {
  const text = header?.trim() ?? "";
  let seconds: number;
  if (/^\d+(?:\.\d+)?$/.test(text)) seconds = Number(text);
  // A date begins with the name of a day; `Date.parse` alone reads numbers as years.
  else if (/^(?:mon|tue|wed|thu|fri|sat|sun)/i.test(text)) {
    seconds = (Date.parse(text) - nowMs) / 1000;
  } else return null;
  if (!Number.isFinite(seconds)) return null;
  return Math.min(Math.max(Math.ceil(seconds), 0), LONGEST_RETRY_SECONDS);
}
