import type { LlamaEmbeddingContext, Token } from "node-llama-cpp";
import { z } from "zod";
import type { JsonObject, JsonValue } from "../../../domain/mod.ts";
import type { Clock } from "../../../platform/mod.ts";
import { checkFields } from "./field_check.ts";
import type { EmbeddingModel } from "./load_model.ts";
import { checkContext, checkTokens } from "./prompt.ts";
import { invalidField } from "./request_error.ts";
import type { SlotPool } from "./slot_pool.ts";
import { measureTimings } from "./timings.ts";

/** What embeddings are made with. */
export interface EmbeddingHost {
  readonly embedding: EmbeddingModel;
  /** One slot: the context embeds one input at a time. */
  readonly pool: SlotPool<LlamaEmbeddingContext>;
  readonly clock: Clock;
}

const MAX_INPUTS = 4096;
const tokenIds = z.array(z.int());
const fields = z.object({
  input: z.union([
    z.string(),
    tokenIds,
    z.array(z.string()).max(MAX_INPUTS),
    z.array(tokenIds).max(MAX_INPUTS),
  ]),
  encoding_format: z.enum(["float", "base64"]).nullish(),
  dimensions: z.int().nullish(),
  model: z.string().nullish(),
});

/**
 * Answer an embeddings request. Inputs are embedded in order, one at a time,
 * with a look at the signal between them.
 *
 * @param host The model and its slot.
 * @param body The request.
 * @param signal Aborting it leaves the queue or stops after the input at work.
 * @returns OpenAI's answer; vectors have length 1.
 * @throws {RequestError} When an input is empty, wrong or too long, or the queue is full.
 */
export async function answerEmbeddings(
  host: EmbeddingHost,
  body: JsonObject,
  signal: AbortSignal,
): Promise<Response> {
  const read = checkFields(fields, body);
  const { embedding } = host;
  const width = embedding.model.embeddingVectorSize;
  if ((read.dimensions ?? width) !== width) {
    throw invalidField(
      "dimensions",
      `This model's embeddings have ${width} dimensions and can not be cut to ${read.dimensions}`,
    );
  }
  const inputs = readInputs(embedding, read.input);
  const counts = inputs.map((input) => {
    const count = embedding.context.calculateInputLength([...input]);
    checkContext(count, embedding.contextLength, true);
    return count;
  });
  const promptTokens = counts.reduce((sum, count) => sum + count, 0);
  using lease = await host.pool.acquire(() => 0, signal);
  const startedAt = host.clock.monotonic();
  const data: JsonValue[] = [];
  for (const [index, input] of inputs.entries()) {
    signal.throwIfAborted();
    const { vector } = await lease.slot.sequence.getEmbeddingFor([...input]);
    const unit = normalize(vector);
    data.push({
      object: "embedding",
      index,
      embedding: read.encoding_format === "base64"
        ? new Uint8Array(unit.buffer).toBase64()
        : Array.from(unit),
    });
  }
  const endedAt = host.clock.monotonic();
  return Response.json({
    object: "list",
    data,
    model: read.model ?? embedding.name,
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

function readInputs(
  embedding: EmbeddingModel,
  input: z.infer<typeof fields>["input"],
): readonly (readonly Token[])[] {
  const list = typeof input === "string" || typeof input[0] === "number"
    ? [input as string | number[]]
    : input as (string | number[])[];
  if (list.length === 0) throw emptyInput("input");
  return list.map((one, at) => {
    const param = list.length === 1 ? "input" : `input.${at}`;
    if (one.length === 0) throw emptyInput(param);
    return typeof one === "string"
      ? embedding.model.tokenize(one, false)
      : checkTokens(one, embedding.vocabularySize, param);
  });
}

function emptyInput(param: string): Error {
  return invalidField(param, `The field "${param}" is empty`);
}

/** Scale to length 1, in single precision as OpenAI's clients read base64. */
function normalize(vector: readonly number[]): Float32Array<ArrayBuffer> {
  const length = Math.hypot(...vector);
  return Float32Array.from(
    vector,
    (value) => length === 0 ? 0 : value / length,
  );
}
