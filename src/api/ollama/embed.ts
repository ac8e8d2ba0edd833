import * as z from "zod";
import type { JsonObject, RoutedAnswer, Upkeep } from "../../domain/mod.ts";
import { jsonResponse } from "../dialect/respond.ts";
import type {
  AnswerTime,
  InferenceReader,
  ReadRequest,
} from "../inference_reader.ts";
import { answerHeaders, readRefusal, readWhole } from "../openai/answer.ts";
import { describeEmbedding, parseEmbedding } from "../openai/embedding.ts";
import type { Envelope } from "../openai/envelope.ts";
import { describeSchema } from "../openapi_schema.ts";
import { describeNamed } from "../openai/generation.ts";
import { checkFields } from "../openai/request_fault.ts";
import { nanoseconds } from "./answer_lines.ts";
import { describeUpkeep, upkeepOf, withUpkeep } from "./upkeep.ts";

const PROMPT = z.looseObject({
  prompt: z.string({ error: "must be a string" }),
});

/** Reads the body of `POST /api/embed`. */
export const readEmbed: InferenceReader = (body, envelope) =>
  reading(
    { model: body.model, input: body.input, dimensions: body.dimensions },
    upkeepOf(body),
    envelope,
    (vectors, model, promptTokens, totalMs) => ({
      model,
      embeddings: vectors,
      total_duration: nanoseconds(totalMs),
      // No engine tells what of it was loading.
      load_duration: 0,
      prompt_eval_count: promptTokens,
    }),
  );

/** Reads the body of `POST /api/embeddings`, the older route for one text. */
export const readEmbeddings: InferenceReader = (body, envelope) =>
  reading(
    { model: body.model, input: checkFields(PROMPT, body).prompt },
    upkeepOf(body),
    envelope,
    (vectors) => ({ embedding: vectors[0] ?? [] }),
  );

type Vector = NonNullable<JsonObject[string]>;

function reading(
  body: JsonObject,
  upkeep: Upkeep,
  envelope: Envelope,
  write: (
    vectors: readonly Vector[],
    model: string,
    promptTokens: number,
    totalMs: number,
  ) => JsonObject,
): ReadRequest {
  const asked = withUpkeep(
    parseEmbedding({ ...body, encoding_format: "float" }, envelope),
    upkeep,
  );
  return {
    asked,
    async answer(routed: RoutedAnswer, { nowMs, elapsedMs }: AnswerTime) {
      if (routed.status >= 400) {
        const { message, headers, status } = await readRefusal(routed, nowMs);
        return jsonResponse({ error: message }, headers, status);
      }
      const answer = await readWhole(routed, asked);
      return jsonResponse(
        write(
          vectorsOf(answer),
          asked.model,
          promptTokensOf(answer) ?? asked.promptTokens,
          elapsedMs(),
        ),
        answerHeaders(routed),
        200,
      );
    },
  };
}

const ANSWER = z.looseObject({
  data: z.array(z.looseObject({ embedding: z.array(z.number()) })),
  usage: z.looseObject({ prompt_tokens: z.number().nullish() }).nullish(),
});

function vectorsOf(answer: JsonObject): readonly Vector[] {
  return checkFields(ANSWER, answer).data.map(({ embedding }) => embedding);
}

function promptTokensOf(answer: JsonObject): number | null {
  return checkFields(ANSWER, answer).usage?.prompt_tokens ?? null;
}

/** The schema of `POST /api/embed`, for the API's description. */
export function describeEmbed(): JsonObject {
  return { allOf: [describeEmbedding(), describeUpkeep()] };
}

/** The schema of `POST /api/embeddings`, for the API's description. */
export function describeEmbeddings(): JsonObject {
  return describeSchema(PROMPT, describeNamed(), describeUpkeep());
}
