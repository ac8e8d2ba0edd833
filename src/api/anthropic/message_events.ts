import type { JsonObject } from "../../domain/mod.ts";
import type { AnswerDone, AnswerPiece } from "../dialect/answer_piece.ts";
import { isWhole } from "../dialect/tool_call_seats.ts";
import type { AnswerWriter } from "../dialect/translate_stream.ts";
import { errorBody, type MessageFrame, stopOf, usageOf } from "./message.ts";

type Block = "text" | "thinking" | "tool_use";

/** A call whose block is not closed yet. */
interface OpenCall {
  readonly id: string;
  readonly name: string;
  /** Its arguments so far. */
  text: string;
  /** How much of them is sent. */
  sent: number;
}

/**
 * Writes Anthropic's events (TRN-01): `message_start`, each block opened,
 * filled and closed before the next, `message_delta`, `message_stop`. A call
 * that begins while another is unfinished waits until that one is complete.
 */
export class MessageEvents implements AnswerWriter {
  readonly #frame: MessageFrame;
  #started = false;
  #blocks = 0;
  #open: Block | null = null;
  /** Calls by their index; the first of `#waiting` is the one whose block is open. */
  readonly #calls = new Map<number, OpenCall>();
  readonly #waiting: number[] = [];

  /** @param frame What the message is about. */
  constructor(frame: MessageFrame) {
    this.#frame = frame;
  }

  /** @inheritdoc */
  write(piece: AnswerPiece): string {
    switch (piece.kind) {
      case "alive":
        return this.#started ? event({ type: "ping" }) : ": waiting\n\n";
      case "text":
        return this.#say("text", piece.text);
      case "reasoning":
        return this.#say("thinking", piece.text);
      case "call":
        return this.#start() + this.#call(piece);
      case "arguments":
        return this.#arguments(piece.index, piece.text);
      case "done":
        return this.#start() + this.#finish(piece);
      case "broken":
        return event(errorBody(piece.busy ? 429 : 500, piece));
      default: {
        const never: never = piece;
        return never;
      }
    }
  }

  #start(): string {
    if (this.#started) return "";
    this.#started = true;
    const { id, model, stops: _stops, promptTokens } = this.#frame;
    return event({
      type: "message_start",
      message: {
        id,
        type: "message",
        role: "assistant",
        model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: {
          input_tokens: promptTokens,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 0,
          output_tokens: 0,
        },
      },
    });
  }

  #say(block: "text" | "thinking", text: string): string {
    let out = this.#start();
    if (this.#open !== block) {
      out += this.#closeAll();
      out += this.#begin(
        block,
        block === "text"
          ? { type: "text", text: "" }
          : { type: "thinking", thinking: "", signature: "" },
      );
    }
    return out + this.#delta(
      block === "text"
        ? { type: "text_delta", text }
        : { type: "thinking_delta", thinking: text },
    );
  }

  #call(
    { index, id, name }: Extract<AnswerPiece, { kind: "call" }>,
  ): string {
    const current = this.#current();
    const out = current !== undefined && isWhole(current.text)
      ? this.#closeFirst()
      : "";
    this.#calls.set(index, { id, name, text: "", sent: 0 });
    this.#waiting.push(index);
    return out + this.#openFirst();
  }

  #arguments(index: number, text: string): string {
    const call = this.#calls.get(index);
    if (call === undefined) return "";
    call.text += text;
    if (this.#waiting[0] !== index) return "";
    let out = this.#sendRest(call);
    while (this.#waiting.length > 1 && isWhole(this.#current()?.text ?? "")) {
      out += this.#closeFirst() + this.#openFirst();
    }
    return out;
  }

  #current(): OpenCall | undefined {
    const [first] = this.#waiting;
    return first === undefined ? undefined : this.#calls.get(first);
  }

  /** Open the block of the first call that waits, where none is open. */
  #openFirst(): string {
    const call = this.#current();
    if (call === undefined || this.#open === "tool_use") return "";
    return this.#close() +
      this.#begin("tool_use", {
        type: "tool_use",
        id: call.id,
        name: call.name,
        input: {},
      }) + this.#sendRest(call);
  }

  #sendRest(call: OpenCall): string {
    const rest = call.text.slice(call.sent);
    call.sent = call.text.length;
    return rest === ""
      ? ""
      : this.#delta({ type: "input_json_delta", partial_json: rest });
  }

  #closeFirst(): string {
    this.#waiting.shift();
    return this.#close();
  }

  /** Close what is open, and write what waits. */
  #closeAll(): string {
    let out = "";
    while (this.#waiting.length > 0) {
      out += this.#openFirst() + this.#closeFirst();
    }
    return out + this.#close();
  }

  #begin(block: Block, content: JsonObject): string {
    this.#open = block;
    return event({
      type: "content_block_start",
      index: this.#blocks,
      content_block: content,
    });
  }

  #delta(delta: JsonObject): string {
    return event({ type: "content_block_delta", index: this.#blocks, delta });
  }

  #close(): string {
    if (this.#open === null) return "";
    this.#open = null;
    return event({ type: "content_block_stop", index: this.#blocks++ });
  }

  #finish(end: AnswerDone): string {
    return this.#closeAll() + event({
      type: "message_delta",
      delta: stopOf(end, this.#frame.stops),
      usage: usageOf(end.counts, this.#frame.promptTokens),
    }) + event({ type: "message_stop" });
  }
}

function event(data: JsonObject): string {
  return `event: ${String(data.type)}\ndata: ${JSON.stringify(data)}\n\n`;
}
