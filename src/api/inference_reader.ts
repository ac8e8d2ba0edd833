import type {
  InferenceRequest,
  JsonObject,
  RoutedAnswer,
} from "../domain/mod.ts";
import { respondWith } from "./openai/answer.ts";
import type { Envelope, RequestParser } from "./openai/envelope.ts";

/** What an answer's writer may know of time. */
export interface AnswerTime {
  /** Wall-clock time at which the answer began. */
  readonly nowMs: number;
  /** Milliseconds since the request came in, until the call. */
  readonly elapsedMs: () => number;
}

/** A request as read, and what writes its answer in the caller's dialect. */
export interface ReadRequest {
  readonly asked: InferenceRequest;
  answer(routed: RoutedAnswer, time: AnswerTime): Promise<Response>;
}

/** Reads the body of one route. */
export type InferenceReader = (
  body: JsonObject,
  envelope: Envelope,
) => ReadRequest;

/**
 * Make the reader of a route that speaks OpenAI's dialect, whose bytes pass as they are.
 *
 * @param parse Reads the body.
 * @returns The reader.
 */
export function inOpenAi(parse: RequestParser): InferenceReader {
  return (body, envelope) => {
    const asked = parse(body, envelope);
    return {
      asked,
      answer: (routed, { nowMs }) => respondWith(routed, asked, nowMs),
    };
  };
}
