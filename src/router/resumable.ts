import {
  type InferenceRequest,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../domain/mod.ts";

/** Fields whose work hangs on more than the text so far: a grammar's state, calls, probabilities. */
const STATEFUL: readonly string[] = [
  "tools",
  "functions",
  "grammar",
  "json_schema",
  "logprobs",
  "top_logprobs",
  "n_probs",
  "audio",
  "prediction",
  "suffix",
  "echo",
];

/**
 * Tell whether another engine could go on with a request's answer in the middle
 * (design.md 6): a wish for it, a stream of plain text, one choice, and nothing
 * that an engine would have to remember beside the text.
 *
 * @param request The request.
 */
export function isResumable(request: InferenceRequest): boolean {
  const { body } = request;
  if (request.resumable !== true || !request.stream) return false;
  if (request.needs.length > 0) return false;
  if (STATEFUL.some((field) => isSet(body[field]))) return false;
  if ([body.n, body.best_of].some((many) => (many ?? 1) !== 1)) return false;
  return isPlainText(body.response_format) && hasTextAlone(request);
}

/**
 * Read a request's stop strings.
 *
 * @param request The request.
 */
export function stopsOf({ body }: InferenceRequest): readonly string[] {
  const stops = Array.isArray(body.stop) ? body.stop : [body.stop];
  return stops.filter((stop) => typeof stop === "string");
}

function hasTextAlone({ capability, body }: InferenceRequest): boolean {
  switch (capability) {
    case "completion":
      return typeof body.prompt === "string";
    case "chat":
      return Array.isArray(body.messages) && body.messages.every(isTextMessage);
    case "embedding":
    case "rerank":
    case "transcription":
    case "speech":
      return false;
    default: {
      const never: never = capability;
      return never;
    }
  }
}

function isTextMessage(message: JsonValue): boolean {
  if (!isJsonObject(message) || isSet(message.tool_calls)) return false;
  if (typeof message.content === "string") return true;
  return Array.isArray(message.content) &&
    message.content.every((part) => isJsonObject(part) && part.type === "text");
}

function isPlainText(format: JsonObject[string]): boolean {
  return !isSet(format) || (isJsonObject(format) && format.type === "text");
}

function isSet(value: JsonObject[string]): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return value !== undefined && value !== null && value !== false &&
    value !== 0 && value !== "";
}
