import {
  Fault,
  type InferenceRequest,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseExactJson,
  type RoutedAnswer,
  sourceOf,
} from "../../domain/mod.ts";
import { through } from "../byte_transform.ts";
import { join, readAtMost } from "../bytes.ts";
import { checkEmbeddings, expectedVectors } from "./embedding_answer.ts";
import { engineError, retryAfterOf } from "./engine_error.ts";
import { renameInEvents } from "./model_name.ts";
import { seatToolCalls } from "./seat_tool_calls.ts";
import { wholeAsEvents } from "./whole_as_events.ts";

/** Longest whole answer: 2,048 vectors of 4,096 numbers take about 200 MB as text. */
const LONGEST_ANSWER_BYTES = 256 * 1024 * 1024;
/** Longest error of an engine that is read. */
const LONGEST_ERROR_BYTES = 64 * 1024;

/**
 * Answer the client with what the router brought. A stream's bytes pass
 * through; a whole answer is checked first; an engine's error is put into
 * OpenAI's shape.
 *
 * @param routed The router's answer.
 * @param request What was asked.
 * @param nowMs Wall-clock time, for a Retry-After that names a date.
 * @returns The response.
 * @throws {Fault} `engine_failed` when the engine's answer can not be used.
 */
export async function respondWith(
  routed: RoutedAnswer,
  request: InferenceRequest,
  nowMs: number,
): Promise<Response> {
  if (routed.status >= 400) {
    const { headers, error, status } = await readRefusal(routed, nowMs);
    headers.push(["content-type", "application/json"]);
    return new Response(JSON.stringify({ error }), { status, headers });
  }
  if (isEventStream(routed.contentType)) {
    const rename = renameInEvents(request.model);
    return new Response(
      through(
        routed.source ?? sourceOf(routed.body),
        request.needs.includes("tools")
          ? [rename, seatToolCalls(routed.decision)]
          : [rename],
      ),
      {
        status: routed.status,
        headers: streamHeaders(routed, "text/event-stream; charset=utf-8"),
      },
    );
  }
  if (request.stream) {
    const answer = await readWhole(routed, request);
    return new Response(wholeAsEvents(answer, request.includeUsage), {
      status: routed.status,
      headers: streamHeaders(routed, "text/event-stream; charset=utf-8"),
    });
  }
  const headers = answerHeaders(routed);
  const body = await wholeAnswer(routed, request);
  headers.push(
    ["content-type", "application/json"],
    ["content-length", String(body.length)],
  );
  return new Response(body, { status: routed.status, headers });
}

/** Fields of an answer's head: as a list they are the cheapest to hand to the runtime. */
export type HeaderList = [name: string, value: string][];

/** An engine's refusal, its error in OpenAI's words and safe to pass on. */
export interface EngineRefusal {
  readonly status: number;
  readonly message: string;
  readonly error: JsonObject;
  readonly headers: HeaderList;
}

/**
 * Read the error of an engine.
 *
 * @param routed An answer with a status of 400 or more.
 * @param nowMs Wall-clock time, for a Retry-After that names a date.
 * @returns What it says.
 */
export async function readRefusal(
  routed: RoutedAnswer,
  nowMs: number,
): Promise<EngineRefusal> {
  const headers = answerHeaders(routed);
  const bytes = await readAtMost(routed.body, LONGEST_ERROR_BYTES);
  const seconds = retryAfterOf(routed.retryAfter, nowMs);
  if (seconds !== null) headers.push(["retry-after", String(seconds)]);
  const error = engineError(routed.status, bytes ?? new Uint8Array());
  return {
    status: routed.status,
    message: typeof error.message === "string" ? error.message : "",
    error,
    headers,
  };
}

/**
 * Read a whole answer and check it.
 *
 * @param routed The answer.
 * @param request What was asked.
 * @returns The answer, naming the model as the caller did.
 * @throws {Fault} `engine_failed` when it can not be used.
 */
export async function readWhole(
  routed: RoutedAnswer,
  request: InferenceRequest,
): Promise<JsonObject> {
  return settled(parseAnswer(await bytesOf(routed), parseExactJson), request);
}

async function wholeAnswer(
  routed: RoutedAnswer,
  request: InferenceRequest,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await bytesOf(routed);
  // What is only looked at needs no number exactly, and vectors hold many.
  const answer = parseAnswer(bytes, JSON.parse);
  if (settled(answer, request) !== answer) {
    const exact = settled(parseAnswer(bytes, parseExactJson), request);
    return ENCODER.encode(JSON.stringify(exact));
  }
  return bytes.buffer instanceof ArrayBuffer
    ? bytes as Uint8Array<ArrayBuffer>
    : new Uint8Array(bytes);
}

const ENCODER = new TextEncoder();
const DECODER = new TextDecoder();

async function bytesOf(
  routed: Pick<RoutedAnswer, "body" | "pieces">,
): Promise<Uint8Array> {
  const { pieces } = routed;
  // Looking at the body would make a stream of what is here in full.
  const bytes = pieces === undefined
    ? await readAtMost(routed.body, LONGEST_ANSWER_BYTES)
    : join(pieces, pieces.reduce((sum, { length }) => sum + length, 0));
  if (bytes !== undefined) return bytes;
  throw unusable(`it is longer than ${LONGEST_ANSWER_BYTES} bytes`);
}

/** The very same object where nothing had to change. */
function settled(answer: JsonObject, request: InferenceRequest): JsonObject {
  const checked = request.capability === "embedding"
    ? checkEmbeddings(answer, expectedVectors(request))
    : answer;
  return typeof checked.model !== "string" || checked.model === request.model
    ? checked
    : { ...checked, model: request.model };
}

function parseAnswer(
  bytes: Uint8Array,
  parse: (text: string) => JsonValue,
): JsonObject {
  let value: JsonValue;
  try {
    value = parse(DECODER.decode(bytes));
  } catch (error) {
    throw unusable("it is no JSON", error);
  }
  if (!isJsonObject(value)) throw unusable("it is no JSON object");
  return value;
}

function unusable(why: string, cause?: unknown): Fault {
  return new Fault(
    "engine_failed",
    `The engine's answer can not be used: ${why}`,
    { origin: "engine", cause },
  );
}

/**
 * Tell whether an answer is a stream of events.
 *
 * @param contentType Its content type.
 */
export function isEventStream(contentType: string): boolean {
  return contentType.trim().toLowerCase().startsWith("text/event-stream");
}

/**
 * Headers of a streamed answer.
 *
 * @param routed The answer.
 * @param contentType What the client gets.
 */
export function streamHeaders(
  routed: RoutedAnswer,
  contentType: string,
): HeaderList {
  const headers = answerHeaders(routed);
  headers.push(
    ["content-type", contentType],
    // Nobody on the way may hold events back to compress or buffer them (SSE-13).
    ["cache-control", "no-cache, no-transform"],
    ["x-accel-buffering", "no"],
  );
  return headers;
}

/**
 * Covey's own headers of an answer: who served it, by which decision.
 *
 * @param routed The answer.
 */
export function answerHeaders(routed: RoutedAnswer): HeaderList {
  const headers: HeaderList = [
    ["x-covey-node", routed.node],
    ["x-covey-decision", routed.decision],
    ["x-covey-model", headerSafe(routed.model)],
  ];
  const { predictedMs, predictedP80Ms } = routed;
  if (Number.isFinite(predictedMs)) {
    headers.push(["x-covey-predicted-ms", String(Math.round(predictedMs))]);
  }
  if (predictedP80Ms !== undefined && Number.isFinite(predictedP80Ms)) {
    headers.push([
      "x-covey-predicted-p80-ms",
      String(Math.round(predictedP80Ms)),
    ]);
  }
  return headers;
}

/** A model's name may hold any character, a header may not. */
function headerSafe(text: string): string {
  return text.replace(
    /[^\x21-\x7e]+/gu,
    (run) => encodeURIComponent(run.toWellFormed()),
  );
}
