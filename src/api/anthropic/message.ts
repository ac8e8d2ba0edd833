import {
  Fault,
  type JsonObject,
  type JsonValue,
  parseObject,
} from "../../domain/mod.ts";
import type {
  AnswerCounts,
  AnswerDone,
  AnswerFinish,
} from "../dialect/answer_piece.ts";
import type { WholeAnswer } from "../dialect/whole_answer.ts";

/** What a message is about. */
export interface MessageFrame {
  readonly id: string;
  /** As the caller named it. */
  readonly model: string;
  /** The caller's stop sequences. */
  readonly stops: readonly string[];
  /** Estimated, until the engine has counted. */
  readonly promptTokens: number;
}

/**
 * Write a whole answer as Anthropic's message.
 *
 * @param answer The answer.
 * @param frame What it is about.
 */
export function messageOf(
  answer: WholeAnswer,
  frame: MessageFrame,
): JsonObject {
  const content: JsonObject[] = [];
  if (answer.reasoning !== "") {
    content.push({
      type: "thinking",
      thinking: answer.reasoning,
      signature: "",
    });
  }
  if (answer.text !== "") content.push({ type: "text", text: answer.text });
  for (const call of answer.calls) {
    content.push({
      type: "tool_use",
      id: call.id,
      name: call.name,
      input: inputOf(call.arguments, answer.end.finish),
    });
  }
  return {
    id: frame.id,
    type: "message",
    role: "assistant",
    model: frame.model,
    content,
    ...stopOf(answer.end, frame.stops),
    usage: usageOf(answer.end.counts, frame.promptTokens),
  };
}

/** A call that a limit cut off is no object; `stop_reason` says so. */
function inputOf(text: string, finish: AnswerFinish): JsonValue {
  const value = parseObject(text === "" ? "{}" : text);
  if (value !== undefined) return value;
  if (finish === "length") return {};
  throw new Fault(
    "engine_failed",
    "The engine's answer can not be used: the arguments of a tool call are no JSON object",
    { origin: "engine" },
  );
}

/**
 * Say why an answer ended.
 *
 * @param end Its end.
 * @param stops The caller's stop sequences.
 */
export function stopOf(
  end: AnswerDone,
  stops: readonly string[],
): JsonObject {
  if (
    end.finish === "stop" && end.stopText !== null &&
    stops.includes(end.stopText)
  ) return { stop_reason: "stop_sequence", stop_sequence: end.stopText };
  const reasons = {
    stop: "end_turn",
    length: "max_tokens",
    tool_calls: "tool_use",
    refused: "refusal",
  } as const;
  return { stop_reason: reasons[end.finish], stop_sequence: null };
}

/**
 * Write what an answer took. Anthropic counts cached tokens apart.
 *
 * @param counts As the engine counted.
 * @param promptTokens What the prompt was estimated at, where it did not.
 */
export function usageOf(
  counts: AnswerCounts,
  promptTokens: number,
): JsonObject {
  const cached = counts.cachedTokens ?? 0;
  return {
    input_tokens: Math.max(0, (counts.promptTokens ?? promptTokens) - cached),
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    output_tokens: counts.outputTokens ?? 0,
  };
}

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  503: "overloaded_error",
  529: "overloaded_error",
};

/**
 * Write an error in Anthropic's shape.
 *
 * @param status HTTP's word for it.
 * @param error What is said, and by whom.
 */
export function errorBody(
  status: number,
  { message, origin }: {
    readonly message: string;
    readonly origin: "covey" | "engine";
  },
): JsonObject {
  const type = ERROR_TYPES[status] ??
    (status < 500 ? "invalid_request_error" : "api_error");
  return { type: "error", error: { type, message, origin } };
}
