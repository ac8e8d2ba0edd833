import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../domain/mod.ts";

/** Tokens as the engine counted them. */
export interface Usage {
  readonly promptTokens: number;
  readonly outputTokens: number;
}

/** llama-server's own measurements. */
export interface Timings {
  /** Prompt tokens that were processed. */
  readonly promptTokens: number;
  readonly promptMs: number;
  /** Prompt tokens that were found in the cache. */
  readonly cachedTokens: number;
  readonly outputTokens: number;
  readonly outputMs: number;
}

/** What one JSON object of an answer (a whole answer, or a chunk) tells. */
export interface AnswerFacts {
  /** Whether it brings text, reasoning or a tool call. */
  readonly hasContent: boolean;
  /** Whether it has choices at all, even empty of content. */
  readonly hasChoices: boolean;
  /** `finish_reason`, or null. */
  readonly finish: string | null;
  readonly usage: Usage | null;
  readonly timings: Timings | null;
  /** The engine's own error, in its words, or null. */
  readonly error: string | null;
}

/** Keys of a choice's delta or message that are no output. */
const NO_OUTPUT = new Set(["role", "name"]);

/**
 * Read what a router must know from an answer of the internal dialect. Pure;
 * whatever has another form than expected is taken for absent.
 *
 * @param answer The parsed JSON.
 * @returns The facts.
 */
export function readAnswer(answer: JsonObject): AnswerFacts {
  const choices = Array.isArray(answer.choices) ? answer.choices : [];
  let hasContent = false;
  let finish: string | null = null;
  for (const choice of choices) {
    if (!isJsonObject(choice)) continue;
    hasContent ||= choiceHasContent(choice);
    finish ??= stringOr(choice.finish_reason);
  }
  return {
    hasContent,
    hasChoices: choices.length > 0,
    finish,
    usage: usageOf(answer.usage),
    timings: timingsOf(answer.timings),
    error: errorOf(answer.error),
  };
}

function choiceHasContent(choice: JsonObject): boolean {
  if (isOutput(choice.text)) return true;
  const delta = choice.delta ?? choice.message;
  if (!isJsonObject(delta)) return false;
  return Object.entries(delta).some(([key, value]) =>
    !NO_OUTPUT.has(key) && isOutput(value)
  );
}

function isOutput(value: JsonValue | undefined): boolean {
  if (typeof value === "string" || Array.isArray(value)) {
    return value.length > 0;
  }
  return isJsonObject(value);
}

function usageOf(value: JsonValue | undefined): Usage | null {
  if (!isJsonObject(value)) return null;
  const promptTokens = countOr(value.prompt_tokens);
  const outputTokens = countOr(value.completion_tokens);
  return promptTokens === null && outputTokens === null
    ? null
    : { promptTokens: promptTokens ?? 0, outputTokens: outputTokens ?? 0 };
}

function timingsOf(value: JsonValue | undefined): Timings | null {
  if (!isJsonObject(value)) return null;
  const promptMs = countOr(value.prompt_ms);
  const outputMs = countOr(value.predicted_ms);
  const outputTokens = countOr(value.predicted_n);
  if (promptMs === null || outputMs === null || outputTokens === null) {
    return null;
  }
  return {
    promptTokens: countOr(value.prompt_n) ?? 0,
    promptMs,
    cachedTokens: countOr(value.cache_n) ?? 0,
    outputTokens,
    outputMs,
  };
}

function errorOf(value: JsonValue | undefined): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "string") return value;
  if (isJsonObject(value)) return stringOr(value.message) ?? "unnamed error";
  return "unnamed error";
}

function stringOr(value: JsonValue | undefined): string | null {
  return typeof value === "string" ? value : null;
}

function countOr(value: JsonValue | undefined): number | null {
  return typeof value === "number" && Number.isFinite(value) && value >= 0
    ? value
    : null;
}
