import type { JsonObject } from "../../domain/mod.ts";
import { respondIn } from "../dialect/respond.ts";
import type { InferenceReader } from "../inference_reader.ts";
import { parseChat } from "../openai/chat.ts";
import { parseCompletion } from "../openai/completion.ts";
import { AnswerLines, answerOf, type LineFrame } from "./answer_lines.ts";
import {
  chatRequestOf,
  generateRequestOf,
  type OllamaRequest,
} from "./chat_body.ts";
import { withUpkeep } from "./upkeep.ts";

/** Reads the body of `POST /api/chat`. */
export const readChat: InferenceReader = readerOf("chat", chatRequestOf);

/** Reads the body of `POST /api/generate`. */
export const readGenerate: InferenceReader = readerOf(
  "generate",
  generateRequestOf,
);

function readerOf(
  kind: LineFrame["kind"],
  translate: (body: JsonObject) => OllamaRequest,
): InferenceReader {
  return (body, envelope) => {
    const { kind: work, body: inner, upkeep } = translate(body);
    const parsed = work === "chat"
      ? parseChat(inner, envelope)
      : parseCompletion(inner, envelope);
    const asked = withUpkeep(parsed, upkeep);
    return {
      asked,
      answer(routed, { nowMs, elapsedMs }) {
        const frame: LineFrame = {
          kind,
          model: asked.model,
          createdAt: new Date(nowMs).toISOString(),
          only: upkeep.only ?? null,
          elapsedMs,
        };
        return respondIn(routed, asked, nowMs, {
          streamType: "application/x-ndjson",
          stream: () => new AnswerLines(frame),
          whole: (answer) => answerOf(answer, frame),
          refusal: ({ message }) => ({ error: message }),
        });
      },
    };
  };
}
