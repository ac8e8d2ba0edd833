import type { AnswerFrame } from "./answer_frame.ts";
import { encodeJson } from "./bounded_json.ts";

/** Media type of an attempt's answer. */
export const ANSWER_MEDIA_TYPE = "application/x-covey-attempt";

const encoder = new TextEncoder();

/**
 * Write one frame: a line, and after `data <n>` the n bytes themselves. A line
 * that is a colon alone says that the member lives, so that a silent engine
 * and a dead link look different, also in the middle of a body.
 *
 * @returns Its bytes.
 */
export function encodeFrame(frame: AnswerFrame): Uint8Array<ArrayBuffer> {
  switch (frame.kind) {
    case "alive":
      return encoder.encode(":\n");
    case "end":
      return encoder.encode("end\n");
    case "data": {
      const head = encoder.encode(`data ${frame.bytes.length}\n`);
      const whole = new Uint8Array(head.length + frame.bytes.length);
      whole.set(head);
      whole.set(frame.bytes, head.length);
      return whole;
    }
    case "accepted":
    case "refused":
    case "answer":
    case "fault": {
      const { kind, ...fields } = frame;
      return encoder.encode(`${kind} ${encodeJson(fields)}\n`);
    }
    default: {
      const never: never = frame;
      return never;
    }
  }
}
