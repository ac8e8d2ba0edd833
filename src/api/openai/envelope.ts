import {
  Fault,
  type InferenceRequest,
  type JsonObject,
  type Source,
} from "../../domain/mod.ts";

/** What of an inference request does not come from its body's own dialect. */
export interface Envelope {
  readonly source: Source;
  readonly conversation: string | null;
  readonly client: string;
}

/** Turns a body of one route into a request. */
export type RequestParser = (
  body: JsonObject,
  envelope: Envelope,
) => InferenceRequest;

const LONGEST_CONVERSATION = 256;

/**
 * Read the header `x-covey-conversation`.
 *
 * @param header Its value, or null.
 * @returns The conversation's name, or null where none was given.
 * @throws {Fault} When it is too long to be kept.
 */
export function parseConversation(header: string | null): string | null {
  const name = header?.trim() ?? "";
  if (name.length > LONGEST_CONVERSATION) {
    throw new Fault(
      "invalid_request",
      `"x-covey-conversation" must have at most ${LONGEST_CONVERSATION} characters`,
      { param: "x-covey-conversation" },
    );
  }
  return name === "" ? null : name;
}
