import type { JsonObject } from "../../../domain/mod.ts";
import type { FinishReason, Piece } from "./chat_pieces.ts";
import { chatLogprobs } from "./logprobs.ts";
import type { ChosenToken } from "./token_chances.ts";

/** One answer as far as it has come, for a client that wants it whole. */
export class CollectedChoice {
  readonly #newId: () => string;
  readonly #calls: { id: string; name: string; arguments: string }[] = [];
  #content = "";
  #tokens: ChosenToken[] | undefined;
  #reason: FinishReason | null = null;
  #stop: string | null = null;

  /** @param newId Draws the id of a call. */
  constructor(newId: () => string) {
    this.#newId = newId;
  }

  /** Take a piece in. */
  add(piece: Piece): void {
    switch (piece.kind) {
      case "content":
        this.#content += piece.text;
        if (piece.tokens !== undefined) {
          (this.#tokens ??= []).push(...piece.tokens);
        }
        return;
      case "begin":
        this.#calls.push({
          id: this.#newId(),
          name: piece.name,
          arguments: "",
        });
        return;
      case "arguments": {
        const call = this.#calls[piece.index];
        if (call !== undefined) call.arguments += piece.text;
        return;
      }
      case "end":
        return;
      case "finish":
        this.#reason = piece.reason;
        this.#stop = piece.stop;
        return;
      default: {
        const never: never = piece;
        return never;
      }
    }
  }

  /** The answer as one of OpenAI's choices. */
  asChoice(index: number): JsonObject {
    return {
      index,
      message: messageOf(this.#content, this.#calls),
      logprobs: chatLogprobs(this.#tokens),
      finish_reason: this.#reason,
      ...stopReason(this.#stop),
    };
  }
}

/**
 * Name the stop string that ended an answer, as vLLM does.
 *
 * @param stop The string, or null.
 */
export function stopReason(stop: string | null): JsonObject {
  return stop === null ? {} : { stop_reason: stop };
}

function messageOf(
  content: string,
  calls: readonly { id: string; name: string; arguments: string }[],
): JsonObject {
  if (calls.length === 0) return { role: "assistant", content };
  return {
    role: "assistant",
    content: content === "" ? null : content,
    tool_calls: calls.map((call) => ({
      id: call.id,
      type: "function",
      function: { name: call.name, arguments: call.arguments },
    })),
  };
}
