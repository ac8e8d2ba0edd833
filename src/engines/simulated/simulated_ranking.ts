import type { JsonObject } from "../../domain/mod.ts";

/**
 * Answer a rerank request: a document's score is the share of the query's words
 * that it holds.
 *
 * @param model Name for the answer.
 * @param body The request's body, `documents` as texts.
 * @param promptTokens For the usage.
 * @returns The answer, in the order of the documents.
 */
export function simulateRanking(
  model: string,
  body: JsonObject,
  promptTokens: number,
): JsonObject {
  const wanted = wordsOf(body.query);
  const documents = Array.isArray(body.documents) ? body.documents : [];
  return {
    object: "list",
    model,
    results: documents.map((document, index) => {
      const held = wordsOf(document);
      const shared = [...wanted].filter((word) => held.has(word));
      return {
        index,
        relevance_score: shared.length / Math.max(1, wanted.size),
      };
    }),
    usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
  };
}

function wordsOf(text: JsonObject[string]): ReadonlySet<string> {
  return new Set(
    typeof text === "string"
      ? text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
      : [],
  );
}
