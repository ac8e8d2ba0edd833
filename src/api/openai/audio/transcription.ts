import * as z from "zod";
import {
  Fault,
  type InferenceRequest,
  type JsonObject,
  type RoutedAnswer,
} from "../../../domain/mod.ts";
import type { InferenceReader } from "../../inference_reader.ts";
import { answerHeaders, readWhole, respondWith } from "../answer.ts";
import { describeSchema } from "../../openapi_schema.ts";
import { describeNamed, engineBody, parseModelName } from "../generation.ts";
import { checkFields, wrongField } from "../request_fault.ts";
import { type SpokenSegment, writeSrt, writeVtt } from "./transcript_text.ts";

/** 160 bytes are a hundredth of a second of the commonest telephone sound. */
const BYTES_PER_TOKEN = 160;
const FORMATS = ["json", "text", "srt", "vtt", "verbose_json"] as const;
const FORMAT = `must be one of ${FORMATS.join(", ")}`;
type Format = typeof FORMATS[number];

const SCHEMA = z.looseObject({
  file: z.looseObject({
    name: z.string(),
    size: z.number(),
    data: z.string(),
  }, { error: "must be a file" }),
  response_format: z.enum(FORMATS, { error: FORMAT }).nullish(),
  language: z.string().nullish(),
  stream: z.enum(["false", "0", ""], {
    error: "must be false: Covey streams no events of transcriptions",
  }).nullish(),
  timestamp_granularities: z.array(
    z.enum(["segment", "word"], { error: 'must be "segment" or "word"' }),
    { error: "must be a list, sent as timestamp_granularities[]" },
  ).nullish(),
});

const ANSWER = z.looseObject({
  text: z.string(),
  language: z.string().nullish(),
  duration: z.number().nullish(),
  segments: z.array(z.looseObject({
    start: z.number(),
    end: z.number(),
    text: z.string(),
  })).nullish(),
  words: z.array(z.looseObject({
    word: z.string(),
    start: z.number(),
    end: z.number(),
  })).nullish(),
});

/** Read the form of `POST /v1/audio/transcriptions` as `readAudioForm` gives it. */
export const readTranscription: InferenceReader = (body, envelope) => {
  const model = parseModelName(body);
  const { file, response_format, timestamp_granularities: times } = checkFields(
    SCHEMA,
    body,
  );
  if (file.size === 0) throw wrongField("file", "must not be empty");
  const format = response_format ?? "json";
  const isTimed = format !== "json" && format !== "text";
  const wantsWords = times?.includes("word") ?? false;
  if (wantsWords && format !== "verbose_json") {
    throw wrongField(
      "timestamp_granularities",
      `has "word", which needs the response_format "verbose_json", not "${format}"`,
    );
  }
  const asked: InferenceRequest = {
    ...envelope,
    capability: "transcription",
    model,
    stream: false,
    includeUsage: false,
    body: {
      ...engineBody(
        body,
        new Set([
          "source",
          "stream",
          ...(isTimed ? [] : ["timestamp_granularities"]),
        ]),
      ),
      // Subtitles are written here; some models know no format with times.
      response_format: isTimed ? "verbose_json" : "json",
    },
    // What listening takes grows with the sound; the router learns how fast.
    promptTokens: Math.ceil(file.size / BYTES_PER_TOKEN),
    maxOutputTokens: null,
    inputCount: 1,
    needs: [],
  };
  return {
    asked,
    answer: async (routed, { nowMs }) =>
      routed.status >= 400
        ? await respondWith(routed, asked, nowMs)
        : await writeTranscript(routed, asked, format, {
          words: wantsWords,
          segments: !wantsWords || times?.includes("segment") === true,
        }),
  };
};

async function writeTranscript(
  routed: RoutedAnswer,
  asked: InferenceRequest,
  format: Format,
  wants: TimedParts,
): Promise<Response> {
  const read = ANSWER.safeParse(await readWhole(routed, asked));
  if (!read.success) {
    throw new Fault(
      "engine_failed",
      "The engine's answer can not be used: it is no transcript",
      { origin: "engine" },
    );
  }
  const { text, usage } = read.data;
  const segments = read.data.segments ?? [];
  const duration = read.data.duration ?? null;
  const headers = answerHeaders(routed);
  headers.push(["cache-control", "no-store"]);
  const respond = (contentType: string, content: string) => {
    headers.push(["content-type", contentType]);
    return new Response(content, { headers });
  };
  const timed = () => {
    if (segments.length > 0 || text === "") return segments;
    // The one stretch that is known without guessing is the whole.
    if (duration !== null) return [{ start: 0, end: duration, text }];
    throw wrongField(
      "response_format",
      `needs times, which "${asked.model}" does not tell; ask for json or text`,
    );
  };
  switch (format) {
    case "json":
      return respond(
        "application/json",
        JSON.stringify(usage === undefined ? { text } : { text, usage }),
      );
    case "text":
      return respond("text/plain; charset=utf-8", `${text}\n`);
    case "srt":
      return respond("application/x-subrip; charset=utf-8", writeSrt(timed()));
    case "vtt":
      return respond("text/vtt; charset=utf-8", writeVtt(timed()));
    case "verbose_json":
      return respond(
        "application/json",
        JSON.stringify(verbose(read.data, segments, asked.model, wants)),
      );
    default: {
      const never: never = format;
      return never;
    }
  }
}

/** What of an answer is to have its times. */
interface TimedParts {
  readonly words: boolean;
  readonly segments: boolean;
}

/** Only what the engine told: no invented probabilities, no guessed language. */
function verbose(
  { language, duration, words, ...told }: z.infer<typeof ANSWER>,
  segments: readonly SpokenSegment[],
  model: string,
  wants: TimedParts,
) {
  const hasWords = words !== undefined && words !== null;
  if (wants.words && !hasWords) {
    throw wrongField(
      "timestamp_granularities",
      `has "word", but "${model}" does not tell when each word is spoken; ask for "segment", or for another model`,
    );
  }
  const { segments: _, ...rest } = told;
  return {
    task: "transcribe",
    ...(typeof language === "string" ? { language } : {}),
    ...(typeof duration === "number" ? { duration } : {}),
    ...rest,
    ...(wants.segments
      ? { segments: segments.map((segment, id) => ({ id, ...segment })) }
      : {}),
    ...(hasWords ? { words } : {}),
  };
}

/** The schema of a transcription's form, for the API's description: the file itself, not as it is read. */
export function describeTranscription(): JsonObject {
  return describeSchema(
    SCHEMA.omit({ file: true, stream: true }).extend({
      file: z.string().meta({ format: "binary" }),
    }),
    describeNamed(),
  );
}
