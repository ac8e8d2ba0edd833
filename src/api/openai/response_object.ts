import type { JsonObject, JsonValue } from "../../domain/mod.ts";
import type { AnswerCounts, AnswerDone } from "../dialect/answer_piece.ts";

/** What a response is about. */
export interface ResponseFrame {
  readonly id: string;
  readonly createdSeconds: number;
  /** As the caller named it. */
  readonly model: string;
  /** The request, whose settings a response repeats. */
  readonly request: JsonObject;
  /** Names of the tools whose input is free text. */
  readonly freeTools: ReadonlySet<string>;
}

/** How far a response is. */
export type ResponseState =
  | { readonly state: "in_progress" }
  | {
    readonly state: "ended";
    readonly end: AnswerDone;
    readonly output: readonly JsonObject[];
  }
  | {
    readonly state: "failed";
    readonly message: string;
    readonly busy: boolean;
    readonly output: readonly JsonObject[];
  };

/**
 * Write a response.
 *
 * @param frame What it is about.
 * @param state How far it is.
 */
export function responseObject(
  frame: ResponseFrame,
  state: ResponseState,
): JsonObject {
  const { request } = frame;
  const isCut = state.state === "ended" && state.end.finish === "length";
  return {
    id: frame.id,
    object: "response",
    created_at: frame.createdSeconds,
    status: state.state === "ended"
      ? isCut ? "incomplete" : "completed"
      : state.state,
    background: false,
    error: state.state === "failed"
      ? {
        code: state.busy ? "rate_limit_exceeded" : "server_error",
        message: state.message,
      }
      : null,
    incomplete_details: isCut ? { reason: "max_output_tokens" } : null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    metadata: request.metadata ?? {},
    model: frame.model,
    output: state.state === "in_progress" ? [] : state.output,
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: request.reasoning ?? { effort: null, summary: null },
    store: false,
    temperature: request.temperature ?? null,
    text: request.text ?? { format: { type: "text" } },
    tool_choice: request.tool_choice ?? "auto",
    tools: request.tools ?? [],
    top_p: request.top_p ?? null,
    truncation: "disabled",
    usage: state.state === "ended" ? usageOf(state.end.counts) : null,
  };
}

function usageOf(
  { promptTokens, cachedTokens, outputTokens }: AnswerCounts,
): JsonValue {
  if (promptTokens === null && outputTokens === null) return null;
  const input = promptTokens ?? 0;
  const output = outputTokens ?? 0;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cachedTokens ?? 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  };
}
