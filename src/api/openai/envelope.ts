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
  /** Whether another engine may go on where a stream breaks off; absent for no. */
  readonly resumable?: true;
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
 * @param header Its value, or undefined.
 * @returns The conversation's name, or null where none was given.
 * @throws {Fault} When it is too long to be kept.
 */
export function parseConversation(
  header: string | undefined,
): string | null {
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

/**
 * Read the header `x-covey-continue`.
 *
 * @param header Its value, or undefined.
 * @param otherwise What holds where it says nothing.
 * @returns What of the envelope it decides.
 * @throws {Fault} When it is neither yes nor no.
 */
export function parseContinue(
  header: string | undefined,
  otherwise: boolean,
): Pick<Envelope, "resumable"> {
  switch (header?.trim().toLowerCase() ?? "") {
    case "":
      return otherwise ? { resumable: true } : {};
    case "1":
    case "true":
      return { resumable: true };
    case "0":
    case "false":
      return {};
    default:
      throw new Fault(
        "invalid_request",
        '"x-covey-continue" must be 1 or 0',
        { param: "x-covey-continue" },
      );
  }
}
