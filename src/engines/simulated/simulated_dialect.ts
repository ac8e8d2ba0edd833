import type { JsonObject } from "../../domain/mod.ts";

/** What an answer is about; the words of llama-server's dialect are made from it. */
export interface AnswerFrame {
  readonly kind: "chat" | "completion";
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  readonly model: string;
  readonly promptTokens: number;
  /** Of these, what needed no prefill. */
  readonly cachedTokens: number;
  /** Tokens of the answer that another engine wrote before. */
  readonly resumedTokens: number;
}

/** How an answer ended. */
export interface AnswerEnd {
  /** Tokens written here. */
  readonly outputTokens: number;
  readonly finishReason: "stop" | "length";
  readonly prefillMs: number;
  readonly decodeMs: number;
}

/** The n-th token of every simulated answer, counting from 1. */
export function wordOf(number: number): string {
  return `w${number} `;
}

/** The chunk that opens a streamed chat; null for completions, which have none. */
export function openingChunk(frame: AnswerFrame): JsonObject | null {
  if (frame.kind === "completion") return null;
  return chunk(frame, {
    index: 0,
    delta: { role: "assistant", content: null },
    finish_reason: null,
  });
}

/** The chunk of one token. */
export function tokenChunk(frame: AnswerFrame, number: number): JsonObject {
  const text = wordOf(frame.resumedTokens + number);
  return frame.kind === "chat"
    ? chunk(frame, { index: 0, delta: { content: text }, finish_reason: null })
    : chunk(frame, { index: 0, text, logprobs: null, finish_reason: null });
}

/** The chunks that close a stream: the finish with its timings, then the usage. */
export function closingChunks(
  frame: AnswerFrame,
  end: AnswerEnd,
): readonly JsonObject[] {
  const last = frame.kind === "chat"
    ? { index: 0, delta: {}, finish_reason: end.finishReason }
    : { index: 0, text: "", logprobs: null, finish_reason: end.finishReason };
  return [
    { ...chunk(frame, last), timings: timingsOf(frame, end) },
    { ...chunk(frame, null), usage: usageOf(frame, end) },
  ];
}

/** An answer that is not streamed. */
export function wholeAnswer(frame: AnswerFrame, end: AnswerEnd): JsonObject {
  let text = "";
  for (let token = 1; token <= end.outputTokens; token++) {
    text += wordOf(frame.resumedTokens + token);
  }
  const choice: JsonObject = frame.kind === "chat"
    ? {
      index: 0,
      message: { role: "assistant", content: text },
      finish_reason: end.finishReason,
    }
    : { index: 0, text, logprobs: null, finish_reason: end.finishReason };
  return {
    id: frame.id,
    object: frame.kind === "chat" ? "chat.completion" : "text_completion",
    created: frame.created,
    model: frame.model,
    choices: [choice],
    usage: usageOf(frame, end),
    timings: timingsOf(frame, end),
  };
}

/** An error in the dialect's shape. */
export function errorAnswer(
  code: number,
  type: string,
  message: string,
): JsonObject {
  return { error: { code, message, type } };
}

/** One server-sent event. */
export function eventBytes(data: JsonObject | "[DONE]"): Uint8Array {
  const text = data === "[DONE]" ? data : JSON.stringify(data);
  return new TextEncoder().encode(`data: ${text}\n\n`);
}

function chunk(frame: AnswerFrame, choice: JsonObject | null): JsonObject {
  return {
    id: frame.id,
    object: frame.kind === "chat" ? "chat.completion.chunk" : "text_completion",
    created: frame.created,
    model: frame.model,
    choices: choice === null ? [] : [choice],
  };
}

function usageOf(frame: AnswerFrame, end: AnswerEnd): JsonObject {
  const { promptTokens, cachedTokens, resumedTokens } = frame;
  const outputTokens = resumedTokens + end.outputTokens;
  return {
    prompt_tokens: promptTokens,
    completion_tokens: outputTokens,
    total_tokens: promptTokens + outputTokens,
    ...(cachedTokens > 0
      ? { prompt_tokens_details: { cached_tokens: cachedTokens } }
      : {}),
  };
}

function timingsOf(frame: AnswerFrame, end: AnswerEnd): JsonObject {
  const { promptTokens, cachedTokens, resumedTokens } = frame;
  const evaluated = promptTokens - cachedTokens + resumedTokens;
  return {
    cache_n: cachedTokens,
    prompt_n: evaluated,
    prompt_ms: end.prefillMs,
    prompt_per_token_ms: ratio(end.prefillMs, evaluated),
    prompt_per_second: ratio(evaluated * 1_000, end.prefillMs),
    predicted_n: end.outputTokens,
    predicted_ms: end.decodeMs,
    predicted_per_token_ms: ratio(end.decodeMs, end.outputTokens),
    predicted_per_second: ratio(end.outputTokens * 1_000, end.decodeMs),
  };
}

function ratio(amount: number, by: number): number {
  return by > 0 ? amount / by : 0;
}
