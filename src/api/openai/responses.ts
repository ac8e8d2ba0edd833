import type { JsonObject } from "../../domain/mod.ts";
import { respondIn } from "../dialect/respond.ts";
import type { WholeAnswer } from "../dialect/whole_answer.ts";
import type { ReadRequest } from "../inference_reader.ts";
import { parseChat } from "./chat.ts";
import type { Envelope } from "./envelope.ts";
import { ResponseEvents } from "./response_events.ts";
import { itemObject, type OutputItem } from "./response_items.ts";
import { type ResponseFrame, responseObject } from "./response_object.ts";
import { responsesRequestOf } from "./responses_body.ts";

/**
 * Read the body of `POST /v1/responses`.
 *
 * @param body The body.
 * @param envelope What came beside it.
 * @returns The request, and what writes its answer.
 * @throws {Fault} Naming the first wrong field.
 */
export function readResponses(
  body: JsonObject,
  envelope: Envelope,
): ReadRequest {
  const { body: inner, freeTools } = responsesRequestOf(body);
  const asked = parseChat(inner, envelope);
  return {
    asked,
    answer(routed, { nowMs }) {
      const frame: ResponseFrame = {
        id: `resp_${routed.decision}`,
        createdSeconds: Math.floor(nowMs / 1000),
        model: asked.model,
        request: body,
        freeTools,
      };
      return respondIn(routed, asked, nowMs, {
        streamType: "text/event-stream; charset=utf-8",
        stream: () => new ResponseEvents(frame),
        whole: (answer) => responseOf(answer, frame),
        refusal: ({ error }) => ({ error }),
      });
    },
  };
}

function responseOf(answer: WholeAnswer, frame: ResponseFrame): JsonObject {
  const tail = frame.id.replace(/^resp_/, "");
  const items: OutputItem[] = [];
  const { reasoning, text, calls, end } = answer;
  if (reasoning !== "") {
    items.push({ kind: "reasoning", id: `rs_${tail}_0`, text: reasoning });
  }
  if (text !== "") {
    items.push({ kind: "message", id: `msg_${tail}_${items.length}`, text });
  }
  for (const call of calls) {
    items.push({
      kind: "call",
      id: `fc_${tail}_${items.length}`,
      callId: call.id,
      name: call.name,
      isFree: frame.freeTools.has(call.name),
      text: call.arguments,
    });
  }
  const last = end.finish === "length" ? "incomplete" : "completed";
  return responseObject(frame, {
    state: "ended",
    end,
    output: items.map((item, at) =>
      itemObject(item, at === items.length - 1 ? last : "completed")
    ),
  });
}
