import type { JsonObject } from "../../domain/mod.ts";
import type { AnswerPiece } from "../dialect/answer_piece.ts";
import type { AnswerWriter } from "../dialect/translate_stream.ts";
import {
  freeInput,
  itemObject,
  type OutputItem,
  textPart,
} from "./response_items.ts";
import {
  type ResponseFrame,
  responseObject,
  type ResponseState,
} from "./response_object.ts";

/** An item whose last event is not sent. */
interface OpenItem {
  readonly item: OutputItem;
  readonly at: number;
}

/**
 * Writes the events of a response, numbered: `response.created`,
 * `response.in_progress`, each item added, filled and done, and last
 * `response.completed`, `.incomplete` or `.failed`.
 */
export class ResponseEvents implements AnswerWriter {
  readonly #frame: ResponseFrame;
  readonly #items: OutputItem[] = [];
  /** Text or reasoning that may go on. */
  #speaking: OpenItem | null = null;
  readonly #calls = new Map<number, OpenItem>();
  #sequence = 0;
  #started = false;

  /** @param frame What the response is about. */
  constructor(frame: ResponseFrame) {
    this.#frame = frame;
  }

  /** @inheritdoc */
  write(piece: AnswerPiece): string {
    switch (piece.kind) {
      case "alive":
        return ": waiting\n\n";
      case "text":
        return this.#say("message", piece.text);
      case "reasoning":
        return this.#say("reasoning", piece.text);
      case "call":
        return this.#start() + this.#endSpeaking() + this.#call(piece);
      case "arguments":
        return this.#arguments(piece.index, piece.text);
      case "done": {
        const status = piece.finish === "length" ? "incomplete" : "completed";
        const before = this.#start() + this.#endAll(status);
        return before + this.#event(`response.${status}`, {
          response: this.#response({
            state: "ended",
            end: piece,
            output: this.#output(status),
          }),
        });
      }
      case "broken": {
        const { message, busy } = piece;
        return this.#start() + this.#event("response.failed", {
          response: this.#response({
            state: "failed",
            message,
            busy,
            output: this.#output("incomplete"),
          }),
        });
      }
      default: {
        const never: never = piece;
        return never;
      }
    }
  }

  #response(state: ResponseState): JsonObject {
    return responseObject(this.#frame, state);
  }

  #output(last: "completed" | "incomplete"): readonly JsonObject[] {
    return this.#items.map((item, at) =>
      itemObject(item, at === this.#items.length - 1 ? last : "completed")
    );
  }

  #start(): string {
    if (this.#started) return "";
    this.#started = true;
    const response = this.#response({ state: "in_progress" });
    return this.#event("response.created", { response }) +
      this.#event("response.in_progress", { response });
  }

  #say(kind: "message" | "reasoning", text: string): string {
    let out = this.#start();
    if (this.#speaking?.item.kind !== kind) {
      out += this.#endSpeaking();
      const id = `${kind === "message" ? "msg" : "rs"}_${this.#tail()}`;
      this.#speaking = this.#add({ kind, id, text: "" });
      out += this.#added(this.#speaking) +
        this.#part("response.content_part.added", this.#speaking, "");
    }
    this.#speaking.item.text += text;
    return out + this.#event(
      kind === "message"
        ? "response.output_text.delta"
        : "response.reasoning_text.delta",
      {
        ...placed(this.#speaking),
        content_index: 0,
        delta: text,
        ...(kind === "message" ? { logprobs: [] } : {}),
      },
    );
  }

  #endSpeaking(
    status: "completed" | "incomplete" = "completed",
  ): string {
    const open = this.#speaking;
    if (open === null) return "";
    this.#speaking = null;
    const { text } = open.item;
    return this.#event(
      open.item.kind === "message"
        ? "response.output_text.done"
        : "response.reasoning_text.done",
      {
        ...placed(open),
        content_index: 0,
        text,
        ...(open.item.kind === "message" ? { logprobs: [] } : {}),
      },
    ) + this.#part("response.content_part.done", open, text) +
      this.#done(open, status);
  }

  #call(
    { index, id, name }: Extract<AnswerPiece, { kind: "call" }>,
  ): string {
    const open = this.#add({
      kind: "call",
      id: `fc_${this.#tail()}`,
      callId: id,
      name,
      isFree: this.#frame.freeTools.has(name),
      text: "",
    });
    this.#calls.set(index, open);
    return this.#added(open);
  }

  #arguments(index: number, text: string): string {
    const open = this.#calls.get(index);
    if (open?.item.kind !== "call") return "";
    open.item.text += text;
    // Free text is inside the arguments, and known once they are whole.
    if (open.item.isFree) return "";
    return this.#event("response.function_call_arguments.delta", {
      ...placed(open),
      delta: text,
    });
  }

  #endAll(status: "completed" | "incomplete"): string {
    let out = this.#endSpeaking(status);
    for (const open of this.#calls.values()) {
      const { item } = open;
      if (item.kind !== "call") continue;
      const isLast = open.at === this.#items.length - 1;
      const input = item.isFree ? freeInput(item.text) : item.text;
      if (item.isFree) {
        out += this.#event("response.custom_tool_call_input.delta", {
          ...placed(open),
          delta: input,
        });
      }
      out += this.#event(
        item.isFree
          ? "response.custom_tool_call_input.done"
          : "response.function_call_arguments.done",
        {
          ...placed(open),
          ...(item.isFree ? { input } : { name: item.name, arguments: input }),
        },
      ) + this.#done(open, isLast ? status : "completed");
    }
    return out;
  }

  #add(item: OutputItem): OpenItem {
    this.#items.push(item);
    return { item, at: this.#items.length - 1 };
  }

  #added({ item, at }: OpenItem): string {
    return this.#event("response.output_item.added", {
      output_index: at,
      item: itemObject(item, "in_progress"),
    });
  }

  #done(
    { item, at }: OpenItem,
    status: "completed" | "incomplete",
  ): string {
    return this.#event("response.output_item.done", {
      output_index: at,
      item: itemObject(item, status),
    });
  }

  #part(type: string, open: OpenItem, text: string): string {
    return this.#event(type, {
      ...placed(open),
      content_index: 0,
      part: open.item.kind === "message"
        ? textPart(text)
        : { type: "reasoning_text", text },
    });
  }

  /** Ends the ids of this response's items. */
  #tail(): string {
    return `${this.#frame.id.replace(/^resp_/, "")}_${this.#items.length}`;
  }

  #event(type: string, data: JsonObject): string {
    const whole = { type, sequence_number: this.#sequence++, ...data };
    return `event: ${type}\ndata: ${JSON.stringify(whole)}\n\n`;
  }
}

function placed({ item, at }: OpenItem): JsonObject {
  return { item_id: item.id, output_index: at };
}
