import {
  type InferenceRequest,
  type JsonObject,
  type RoutedAnswer,
  sourceOf,
} from "../../domain/mod.ts";
import { through } from "../byte_transform.ts";
import {
  answerHeaders,
  type HeaderList,
  isEventStream,
  readRefusal,
  readWhole,
  streamHeaders,
} from "../openai/answer.ts";
import { PieceReader } from "./piece_reader.ts";
import { type AnswerWriter, translateStream } from "./translate_stream.ts";
import { readWholeAnswer, type WholeAnswer } from "./whole_answer.ts";

/** An engine's refusal, safe to pass on. */
export interface Refusal {
  readonly status: number;
  readonly message: string;
  /** The same in OpenAI's words. */
  readonly error: JsonObject;
}

/** How one dialect writes the answer to one request. */
export interface DialectWriter {
  /** Content type of a streamed answer. */
  readonly streamType: string;
  /** Begin a streamed answer. */
  stream(): AnswerWriter;
  /** Write a whole one. */
  whole(answer: WholeAnswer): JsonObject;
  /** Write an engine's refusal. */
  refusal(refusal: Refusal): JsonObject;
}

/**
 * Answer a client of another dialect with what the router brought.
 *
 * @param routed The router's answer, in the internal dialect.
 * @param request What was asked.
 * @param nowMs Wall-clock time, for a Retry-After that names a date.
 * @param writer Writes the client's dialect.
 * @returns The response.
 * @throws {Fault} `engine_failed` when the engine's answer can not be used.
 */
export async function respondIn(
  routed: RoutedAnswer,
  request: InferenceRequest,
  nowMs: number,
  writer: DialectWriter,
): Promise<Response> {
  const seed = routed.decision;
  if (routed.status >= 400) {
    const refusal = await readRefusal(routed, nowMs);
    return jsonResponse(
      writer.refusal(refusal),
      refusal.headers,
      refusal.status,
    );
  }
  if (isEventStream(routed.contentType)) {
    return new Response(
      through(routed.source ?? sourceOf(routed.body), [
        translateStream(writer.stream(), seed),
      ]),
      { headers: streamHeaders(routed, writer.streamType) },
    );
  }
  const answer = await readWhole(routed, request);
  if (!request.stream) {
    return jsonResponse(
      writer.whole(readWholeAnswer(answer, seed)),
      answerHeaders(routed),
      200,
    );
  }
  // The engine does not stream; the client asked for events all the same.
  const stream = writer.stream();
  const text = new PieceReader(seed).whole(answer)
    .map((piece) => stream.write(piece)).join("");
  return new Response(text, {
    headers: streamHeaders(routed, writer.streamType),
  });
}

const ENCODER = new TextEncoder();

/**
 * Write JSON as a response.
 *
 * @param value What to write.
 * @param headers Headers; content type and length are added.
 * @param status The status.
 */
export function jsonResponse(
  value: JsonObject,
  headers: HeaderList,
  status: number,
): Response {
  const body = ENCODER.encode(JSON.stringify(value));
  headers.push(
    ["content-type", "application/json"],
    ["content-length", String(body.length)],
  );
  return new Response(body, { status, headers });
}
