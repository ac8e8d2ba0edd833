import { Fault } from "../../domain/mod.ts";

/** One event larger than this is taken for a fault of the engine. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024;

const LF = 0x0a;

/** What a piece of a server-sent stream brought. */
export type StreamItem =
  | { readonly kind: "data"; readonly data: string }
  /** A sign of life without meaning (SSE-03). */
  | { readonly kind: "comment" };

/**
 * Cuts server-sent events out of bytes that come in any pieces. Whole lines
 * are decoded, so no character is ever cut (SSE-01).
 */
export class EventData {
  readonly #decoder = new TextDecoder();
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #data: string[] = [];

  /**
   * Take bytes in.
   *
   * @param chunk What came.
   * @returns The events it completed, in order.
   * @throws {Fault} `engine_failed` when a line exceeds the bound.
   */
  push(chunk: Uint8Array): StreamItem[] {
    const cut = chunk.lastIndexOf(LF) + 1;
    if (cut === 0) {
      this.#hold(chunk);
      return [];
    }
    this.#hold(chunk.subarray(0, cut));
    const text = this.#release();
    if (cut < chunk.length) this.#hold(chunk.subarray(cut));
    const items: StreamItem[] = [];
    const lines = text.split("\n");
    // What follows the last line feed is empty.
    lines.pop();
    for (const line of lines) this.#line(line, items);
    return items;
  }

  /**
   * Take the end in.
   *
   * @returns The event that lacked its blank line, if there was one.
   */
  end(): StreamItem[] {
    const items: StreamItem[] = [];
    if (this.#heldBytes > 0) this.#line(this.#release(), items);
    this.#line("", items);
    return items;
  }

  #line(raw: string, items: StreamItem[]): void {
    const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
    if (line === "") {
      if (this.#data.length === 0) return;
      items.push({ kind: "data", data: this.#data.join("\n") });
      this.#data = [];
    } else if (line.startsWith("data:")) {
      const value = line.slice("data:".length);
      this.#data.push(value.startsWith(" ") ? value.slice(1) : value);
    } else if (line.startsWith(":")) items.push({ kind: "comment" });
  }

  #hold(bytes: Uint8Array): void {
    this.#heldBytes += bytes.length;
    if (this.#heldBytes > MAX_EVENT_BYTES) {
      throw new Fault(
        "engine_failed",
        `The engine sent one event of more than ${MAX_EVENT_BYTES} bytes`,
        { origin: "engine" },
      );
    }
    this.#held.push(bytes);
  }

  /** The lines held, whole, and so their characters. */
  #release(): string {
    let text = "";
    for (const part of this.#held) {
      text += this.#decoder.decode(part, { stream: true });
    }
    text += this.#decoder.decode();
    this.#held = [];
    this.#heldBytes = 0;
    return text;
  }
}
