import { isJsonObject, type JsonObject } from "../domain/mod.ts";

/** One part's answer, as the engine gave it. */
export interface PartAnswer {
  readonly from: number;
  readonly count: number;
  readonly answer: JsonObject;
}

/**
 * Tell whether an engine's answer holds what a part needs: one vector (EMB-03)
 * or one score for each input, none empty, each index once.
 *
 * @param answer The answer.
 * @param count Inputs of the part.
 */
export function isCompletePart(answer: JsonObject, count: number): boolean {
  const items = itemsOf(answer);
  if (items === null || items.length !== count) return false;
  const seen = new Set<number>();
  for (const [position, item] of items.entries()) {
    if (!isJsonObject(item)) return false;
    const isRanked = typeof item.relevance_score === "number";
    if (!isRanked && !isVector(item.embedding)) return false;
    // A ranking's order is that of its scores: without an index it says nothing.
    const index = item.index ?? (isRanked ? null : position);
    if (typeof index !== "number" || seen.has(index)) return false;
    if (!Number.isInteger(index) || index < 0 || index >= count) return false;
    seen.add(index);
  }
  return true;
}

/**
 * Put the answers of all parts together: vectors or scores in the order of the
 * inputs, usage summed up.
 *
 * @param parts Answers that `isCompletePart` passed, covering all inputs.
 * @returns The answer to the whole request.
 */
export function joinParts(parts: readonly PartAnswer[]): JsonObject {
  const joined: JsonObject[] = [];
  let promptTokens = 0;
  let totalTokens = 0;
  for (const { from, answer } of parts) {
    for (const [position, item] of (itemsOf(answer) ?? []).entries()) {
      if (!isJsonObject(item)) continue;
      const at = typeof item.index === "number" ? item.index : position;
      joined[from + at] = { ...item, index: from + at };
    }
    const usage = isJsonObject(answer.usage) ? answer.usage : {};
    promptTokens += countOf(usage.prompt_tokens);
    totalTokens += countOf(usage.total_tokens);
  }
  const first = parts[0]?.answer;
  return {
    ...first,
    ...(Array.isArray(first?.data) ? { data: joined } : { results: joined }),
    usage: { prompt_tokens: promptTokens, total_tokens: totalTokens },
  };
}

/** Vectors stand in `data`, scores in `results`. */
function itemsOf(answer: JsonObject) {
  if (Array.isArray(answer.data)) return answer.data;
  return Array.isArray(answer.results) ? answer.results : null;
}

function isVector(value: JsonObject[string]): boolean {
  return (typeof value === "string" || Array.isArray(value)) &&
    value.length > 0;
}

function countOf(value: JsonObject[string]): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}
