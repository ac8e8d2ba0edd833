import type { JsonObject } from "../../domain/mod.ts";
import { respondIn } from "../dialect/respond.ts";
import type { ReadRequest } from "../inference_reader.ts";
import { parseChat } from "../openai/chat.ts";
import type { Envelope } from "../openai/envelope.ts";
import { chatBodyOf } from "./chat_body.ts";
import { errorBody, type MessageFrame, messageOf } from "./message.ts";
import { MessageEvents } from "./message_events.ts";

/**
 * Read the body of `POST /v1/messages`.
 *
 * @param body The body.
 * @param envelope What came beside it.
 * @returns The request, and what writes its answer.
 * @throws {Fault} Naming the first wrong field.
 */
export function readMessages(
  body: JsonObject,
  envelope: Envelope,
): ReadRequest {
  const asked = parseChat(chatBodyOf(body), envelope);
  const stops = Array.isArray(body.stop_sequences)
    ? body.stop_sequences.filter((one) => typeof one === "string")
    : [];
  return {
    asked,
    answer(routed, { nowMs }) {
      const frame: MessageFrame = {
        id: `msg_${routed.decision}`,
        model: asked.model,
        stops,
        promptTokens: asked.promptTokens,
      };
      return respondIn(routed, asked, nowMs, {
        streamType: "text/event-stream; charset=utf-8",
        stream: () => new MessageEvents(frame),
        whole: (answer) => messageOf(answer, frame),
        refusal: ({ status, message }) =>
          errorBody(status, { message, origin: "engine" }),
      });
    },
  };
}

/**
 * Answer `POST /v1/messages/count_tokens`. The count is an estimate, made as
 * placement makes it: which engine would serve is not known yet.
 *
 * @param body The body.
 * @returns Anthropic's answer.
 * @throws {Fault} Naming the first wrong field.
 */
export function countTokens(body: JsonObject): JsonObject {
  const asked = parseChat(chatBodyOf({ ...body, stream: false }), {
    source: { kind: "unsaid" },
    conversation: null,
    client: "",
  });
  return { input_tokens: asked.promptTokens };
}
