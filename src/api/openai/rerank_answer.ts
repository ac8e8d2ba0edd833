import { Fault, isJsonObject, type JsonObject } from "../../domain/mod.ts";

/** How near a document is to the query. */
export interface Ranked {
  /** Of the document, in the order of the request. */
  readonly index: number;
  /** As the engine gave it: from 0 to 1 with most, any number with some. */
  readonly score: number;
}

/**
 * Check an engine's ranking: each document once, with a score.
 *
 * @param answer The engine's answer.
 * @param count Documents of the request.
 * @returns All documents, the nearest first; of equals, the earlier one.
 * @throws {Fault} `engine_failed` when a document is missing, unknown or without a score.
 */
export function rankResults(
  answer: JsonObject,
  count: number,
): readonly Ranked[] {
  const { results } = answer;
  if (!Array.isArray(results)) throw broken("no list of results");
  if (results.length !== count) {
    throw broken(`${results.length} results for ${count} documents`);
  }
  const seen = new Set<number>();
  const ranked = results.map((result): Ranked => {
    if (!isJsonObject(result)) {
      throw broken("no object where a result belongs");
    }
    const { index, relevance_score: score } = result;
    if (
      typeof index !== "number" || !Number.isInteger(index) || index < 0 ||
      index >= count || seen.has(index)
    ) throw broken("an index that is out of range or given twice");
    if (typeof score !== "number") throw broken("a result without a score");
    seen.add(index);
    return { index, score };
  });
  return ranked.sort((a, b) => b.score - a.score || a.index - b.index);
}

function broken(what: string): Fault {
  return new Fault(
    "engine_failed",
    `The engine's ranking can not be used: it sent ${what}`,
    { origin: "engine" },
  );
}
