import type { JsonObject } from "../../domain/mod.ts";
import {
  type AnswerLength,
  type AnswerText,
  pieceOf,
  piecesAfter,
} from "./answer_text.ts";
import { chatLogprobs, completionLogprobs } from "./simulated_logprobs.ts";
import type { AnswerWishes } from "./simulated_wishes.ts";

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
  readonly wishes: AnswerWishes;
  /** What each of the answers consists of. */
  readonly text: AnswerText;
}

/** How an answer ended. */
export interface AnswerEnd {
  /** Tokens of each answer that were written here. */
  readonly outputTokens: number;
  readonly finishReason: AnswerLength["finishReason"];
  readonly prefillMs: number;
  readonly decodeMs: number;
}

/** The chunk that opens an answer of a streamed chat; null for completions, which have none. */
export function openingChunk(
  frame: AnswerFrame,
  index: number,
): JsonObject | null {
  if (frame.kind === "completion") return null;
  return chunk(frame, {
    index,
    delta: { role: "assistant", content: null },
    finish_reason: null,
  });
}

/** The chunk of one token. */
export function tokenChunk(
  frame: AnswerFrame,
  index: number,
  number: number,
): JsonObject {
  const { resumedTokens, wishes: { topLogprobs } } = frame;
  const text = pieceOf(frame.text, resumedTokens + number, index);
  if (frame.kind === "chat") {
    const logprobs = topLogprobs === null
      ? {}
      : { logprobs: chatLogprobs([text], topLogprobs) };
    const delta = frame.text.kind === "call"
      ? { tool_calls: [callDelta(frame, frame.text.tool, index, number, text)] }
      : { content: text };
    return chunk(frame, { index, delta, ...logprobs, finish_reason: null });
  }
  const logprobs = topLogprobs === null ? null : completionLogprobs(
    [text],
    topLogprobs,
    piecesAfter(frame.text, resumedTokens, number - 1, index).join("").length,
  );
  return chunk(frame, { index, text, logprobs, finish_reason: null });
}

/** The chunk that ends one answer. */
export function finishChunk(
  frame: AnswerFrame,
  index: number,
  reason: AnswerLength["finishReason"],
): JsonObject {
  return chunk(
    frame,
    frame.kind === "chat"
      ? { index, delta: {}, finish_reason: reason }
      : { index, text: "", logprobs: null, finish_reason: reason },
  );
}

/** The chunks that close a stream: the last answer's finish with the timings, then the usage. */
export function closingChunks(
  frame: AnswerFrame,
  index: number,
  end: AnswerEnd,
): readonly JsonObject[] {
  return [
    {
      ...finishChunk(frame, index, end.finishReason),
      timings: timingsOf(frame, end),
    },
    { ...chunk(frame, null), usage: usageOf(frame, end) },
  ];
}

/** An answer that is not streamed. */
export function wholeAnswer(frame: AnswerFrame, end: AnswerEnd): JsonObject {
  const choices = Array.from(
    { length: frame.wishes.choices },
    (_, index) => choiceOf(frame, index, end),
  );
  return {
    id: frame.id,
    object: frame.kind === "chat" ? "chat.completion" : "text_completion",
    created: frame.created,
    model: frame.model,
    choices,
    usage: usageOf(frame, end),
    timings: timingsOf(frame, end),
  };
}

function choiceOf(
  frame: AnswerFrame,
  index: number,
  { outputTokens, finishReason }: AnswerEnd,
): JsonObject {
  const { resumedTokens, wishes: { topLogprobs } } = frame;
  const words = piecesAfter(frame.text, resumedTokens, outputTokens, index);
  const text = words.join("");
  const finish = { finish_reason: finishReason };
  if (frame.kind === "chat") {
    const logprobs = topLogprobs === null
      ? {}
      : { logprobs: chatLogprobs(words, topLogprobs) };
    const message = frame.text.kind === "call"
      ? {
        role: "assistant",
        content: null,
        tool_calls: [callOf(frame, frame.text.tool, index, text)],
      }
      : { role: "assistant", content: text };
    return { index, message, ...logprobs, ...finish };
  }
  const logprobs = topLogprobs === null
    ? null
    : completionLogprobs(words, topLogprobs, 0);
  return { index, text, logprobs, ...finish };
}

function callOf(
  frame: AnswerFrame,
  tool: string,
  index: number,
  text: string,
): JsonObject {
  return {
    id: `call_${frame.id}_${index}`,
    type: "function",
    function: { name: tool, arguments: text },
  };
}

/** A piece of a call; the first one has its name. */
function callDelta(
  frame: AnswerFrame,
  tool: string,
  index: number,
  number: number,
  text: string,
): JsonObject {
  return number === 1
    ? { index: 0, ...callOf(frame, tool, index, text) }
    : { index: 0, function: { arguments: text } };
}

/** An error in the dialect's shape. */
export function errorAnswer(
  code: number,
  type: string,
  message: string,
  param?: string,
): JsonObject {
  return {
    error: {
      code,
      message,
      type,
      ...(param === undefined ? {} : { param }),
    },
  };
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
  const outputTokens = resumedTokens + end.outputTokens * frame.wishes.choices;
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
  const outputTokens = end.outputTokens * frame.wishes.choices;
  return {
    cache_n: cachedTokens,
    prompt_n: evaluated,
    prompt_ms: end.prefillMs,
    prompt_per_token_ms: ratio(end.prefillMs, evaluated),
    prompt_per_second: ratio(evaluated * 1_000, end.prefillMs),
    predicted_n: outputTokens,
    predicted_ms: end.decodeMs,
    predicted_per_token_ms: ratio(end.decodeMs, outputTokens),
    predicted_per_second: ratio(outputTokens * 1_000, end.decodeMs),
  };
}

function ratio(amount: number, by: number): number {
  return by > 0 ? amount / by : 0;
}
