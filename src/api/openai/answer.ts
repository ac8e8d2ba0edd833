import {
  Fault,
  type InferenceRequest,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type RoutedAnswer,
} from "../../domain/mod.ts";
import { readAtMost } from "../bytes.ts";
import { checkEmbeddings, expectedVectors } from "./embedding_answer.ts";
import { engineError, retryAfterOf } from "./engine_error.ts";
import { renameInEvents } from "./model_name.ts";

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
  const headers = coveyHeaders(routed);
  if (routed.status >= 400) {
    const bytes = await readAtMost(routed.body, LONGEST_ERROR_BYTES);
    const seconds = retryAfterOf(routed.retryAfter, nowMs);
    if (seconds !== null) headers.set("retry-after", String(seconds));
    headers.set("content-type", "application/json");
    return new Response(
      JSON.stringify(engineError(routed.status, bytes ?? new Uint8Array())),
      { status: routed.status, headers },
    );
  }
  if (isEventStream(routed.contentType)) {
    headers.set("content-type", "text/event-stream; charset=utf-8");
    // Nobody on the way may hold events back to compress or buffer them (SSE-13).
    headers.set("cache-control", "no-cache, no-transform");
    headers.set("x-accel-buffering", "no");
    return new Response(
      routed.body.pipeThrough(renameInEvents(request.model)),
      { status: routed.status, headers },
    );
  }
  const body = await wholeAnswer(routed, request);
  headers.set("content-type", "application/json");
  headers.set("content-length", String(body.length));
  return new Response(body, { status: routed.status, headers });
}

async function wholeAnswer(
  routed: RoutedAnswer,
  request: InferenceRequest,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await readAtMost(routed.body, LONGEST_ANSWER_BYTES);
  if (bytes === undefined) {
    throw unusable(`it is longer than ${LONGEST_ANSWER_BYTES} bytes`);
  }
  const answer = parseAnswer(bytes);
  const checked = request.capability === "embedding"
    ? checkEmbeddings(answer, expectedVectors(request))
    : answer;
  const named = typeof checked.model !== "string" ||
      checked.model === request.model
    ? checked
    : { ...checked, model: request.model };
  return named === answer
    ? new Uint8Array(bytes)
    : new TextEncoder().encode(JSON.stringify(named));
}

function parseAnswer(bytes: Uint8Array): JsonObject {
  let value: JsonValue;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes));
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

function isEventStream(contentType: string): boolean {
  return contentType.trim().toLowerCase().startsWith("text/event-stream");
}

function coveyHeaders(routed: RoutedAnswer): Headers {
  const headers = new Headers({
    "x-covey-node": routed.node,
    "x-covey-decision": routed.decision,
    "x-covey-model": headerSafe(routed.model),
  });
  if (Number.isFinite(routed.predictedMs)) {
    headers.set("x-covey-predicted-ms", String(Math.round(routed.predictedMs)));
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
