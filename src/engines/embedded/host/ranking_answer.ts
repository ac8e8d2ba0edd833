import type { LlamaRankingContext } from "node-llama-cpp";
import { z } from "zod";
import type { JsonObject, JsonValue } from "../../../domain/mod.ts";
import type { Clock } from "../../../platform/mod.ts";
import { checkFields } from "./field_check.ts";
import type { RankingModel } from "./load_model.ts";
import { checkContext } from "./prompt.ts";
import { invalidField } from "./request_error.ts";
import type { SlotPool } from "./slot_pool.ts";
import { measureTimings } from "./timings.ts";

/** What rankings are made with. */
export interface RankingHost {
  readonly ranking: RankingModel;
  /** One slot: the context ranks one document at a time. */
  readonly pool: SlotPool<LlamaRankingContext>;
  readonly clock: Clock;
}

const MAX_DOCUMENTS = 4096;
const fields = z.object({
  query: z.string().min(1),
  documents: z.array(z.string().min(1)).min(1).max(MAX_DOCUMENTS),
  top_n: z.int().min(1).nullish(),
  model: z.string().nullish(),
});

/**
 * Answer a rerank request. Documents are ranked in order, one at a time, with a
 * look at the signal between them.
 *
 * @param host The model and its slot.
 * @param body The request.
 * @param signal Aborting it leaves the queue or stops after the document at work.
 * @returns llama-server's answer, the best first; scores are probabilities from 0 to 1.
 * @throws {RequestError} When a text is empty or too long, or the queue is full.
 */
export async function answerRanking(
  host: RankingHost,
  body: JsonObject,
  signal: AbortSignal,
): Promise<Response> {
  const read = checkFields(fields, body);
  const { context, contextLength, name } = host.ranking;
  let promptTokens = 0;
  for (const document of read.documents) {
    const count = context.calculateInputLength(read.query, document);
    if (count === 0) throw invalidField("documents", "A document is empty");
    checkContext(count, contextLength, true);
    promptTokens += count;
  }
  using lease = await host.pool.acquire(() => 0, signal);
  const startedAt = host.clock.monotonic();
  const scores: number[] = [];
  for (const document of read.documents) {
    signal.throwIfAborted();
    scores.push(await lease.slot.sequence.rank(read.query, document));
  }
  const endedAt = host.clock.monotonic();
  const results: JsonValue[] = scores
    .map((relevance_score, index) => ({ index, relevance_score }))
    .sort((a, b) => b.relevance_score - a.relevance_score)
    .slice(0, read.top_n ?? scores.length);
  return Response.json({
    object: "list",
    results,
    model: read.model ?? name,
    usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
    timings: measureTimings({
      cachedTokens: 0,
      promptTokens,
      outputTokens: 0,
      startedAt,
      firstAt: endedAt,
      endedAt,
    }),
  });
}
