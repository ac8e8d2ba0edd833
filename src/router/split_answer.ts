import { isJsonObject, type JsonObject } from "../domain/mod.ts";

/** One part's answer, as the engine gave it. */
export interface PartAnswer {
  readonly from: number;
  readonly count: number;
  readonly answer: JsonObject;
}

/**
 * Tell whether an engine's answer holds what a part needs: one vector for each
 * input, none empty, each index once (EMB-03).
 *
 * @param answer The answer.
 * @param count Inputs of the part.
 */
export function isCompletePart(answer: JsonObject, count: number): boolean {
  const { data } = answer;
  if (!Array.isArray(data) || data.length !== count) return false;
  const seen = new Set<number>();
  for (const [position, item] of data.entries()) {
    if (!isJsonObject(item)) return false;
    const index = item.index ?? position;
    const { embedding } = item;
    const isVector = (typeof embedding === "string" ||
      Array.isArray(embedding)) && embedding.length > 0;
    if (!isVector || typeof index !== "number" || seen.has(index)) return false;
    if (!Number.isInteger(index) || index < 0 || index >= count) return false;
    seen.add(index);
  }
  return true;
}

/**
 * Put the answers of all parts together: vectors in the order of the inputs,
 * usage summed up.
 *
 * @param parts Answers that `isCompletePart` passed, covering all inputs.
 * @returns The answer to the whole request.
 */
export function joinParts(parts: readonly PartAnswer[]): JsonObject {
  const data: JsonObject[] = [];
  let promptTokens = 0;
  let totalTokens = 0;
  for (const { from, answer } of parts) {
    const items = Array.isArray(answer.data) ? answer.data : [];
    for (const [position, item] of items.entries()) {
      if (!isJsonObject(item)) continue;
      const at = typeof item.index === "number" ? item.index : position;
      data[from + at] = { ...item, index: from + at };
    }
    const usage = isJsonObject(answer.usage) ? answer.usage : {};
    promptTokens += countOf(usage.prompt_tokens);
    totalTokens += countOf(usage.total_tokens);
  }
  return {
    ...parts[0]?.answer,
    data,
    usage: { prompt_tokens: promptTokens, total_tokens: totalTokens },
  };
}

function countOf(value: JsonObject[string]): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}
