import * as z from "zod";
import type { InferenceRequest, JsonObject } from "../../../domain/mod.ts";
import type { InferenceReader } from "../../inference_reader.ts";
import { describeSchema } from "../../openapi_schema.ts";
import { answerHeaders, respondWith } from "../answer.ts";
import { describeNamed, engineBody, parseModelName } from "../generation.ts";
import { checkFields, wrongField } from "../request_fault.ts";
import { estimateTextTokens } from "../token_estimate.ts";

const MOST_CHARACTERS = 16_384;
const FORMATS = ["wav", "pcm", "mp3", "opus", "aac", "flac"] as const;
const FORMAT = `must be one of ${FORMATS.join(", ")}`;
const SPEED = "must be a number from 0.25 to 4";
const INPUT =
  `must be a text to speak of at most ${MOST_CHARACTERS} characters`;

const SCHEMA = z.looseObject({
  input: z.string({ error: INPUT }).min(1, { error: INPUT })
    .max(MOST_CHARACTERS, { error: INPUT }),
  voice: z.string({ error: "must be a string" }).nullish(),
  response_format: z.enum(FORMATS, { error: FORMAT }).nullish(),
  speed: z.number({ error: SPEED }).min(0.25, { error: SPEED })
    .max(4, { error: SPEED }).nullish(),
  stream_format: z.enum(["audio"], {
    error: 'must be "audio": Covey streams no events of speech',
  }).nullish(),
});

/**
 * Read the body of `POST /v1/audio/speech`. Who names no format gets WAV, which
 * every engine can write; OpenAI's own default needs a program that may be missing.
 */
export const readSpeech: InferenceReader = (body, envelope) => {
  const model = parseModelName(body);
  const { input, response_format } = checkFields(SCHEMA, body);
  if (input.trim() === "") throw wrongField("input", INPUT);
  const asked: InferenceRequest = {
    ...envelope,
    capability: "speech",
    model,
    stream: false,
    includeUsage: false,
    body: {
      ...engineBody(body, new Set(["source", "stream_format"])),
      response_format: response_format ?? "wav",
    },
    // What speaking takes grows with the text; the router learns how fast.
    promptTokens: estimateTextTokens(input),
    maxOutputTokens: null,
    inputCount: 1,
    needs: [],
  };
  return {
    asked,
    answer: async (routed, { nowMs }) => {
      if (routed.status >= 400) return await respondWith(routed, asked, nowMs);
      const headers = answerHeaders(routed);
      headers.push(
        ["content-type", routed.contentType],
        ["cache-control", "no-store"],
      );
      return new Response(routed.body, {
        status: routed.status,
        headers,
      });
    },
  };
};

/** The schema of a speech request, for the API's description. */
export function describeSpeech(): JsonObject {
  return describeSchema(SCHEMA, describeNamed());
}
