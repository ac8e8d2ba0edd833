import { Fault } from "../domain/mod.ts";

const LF = 0x0a;
const CR = 0x0d;

/** One event larger than this is taken for a fault of the engine. */
export const MAX_EVENT_BYTES = 16 * 1024 * 1024;

/**
 * Cuts a byte stream into server-sent events, each as its own raw bytes up to
 * and with the blank line. Nothing is decoded, so that a character cut by a
 * network write stays whole, and what is passed on is what came.
 */
export class SseEvents {
  readonly #maxBytes: number;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  /** Whether the line under way has nothing but a carriage return in it. */
  #blank = true;

  /** @param maxBytes Bound of one event. */
  constructor(maxBytes: number = MAX_EVENT_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Take bytes in.
   *
   * @param chunk What came, cut anywhere.
   * @returns The events it completed, in order.
   * @throws {Fault} When an event exceeds the bound.
   */
  push(chunk: Uint8Array): Uint8Array[] {
    const events: Uint8Array[] = [];
    let eventStart = 0;
    let lineStart = 0;
    for (;;) {
      const lineEnd = chunk.indexOf(LF, lineStart);
      const until = lineEnd < 0 ? chunk.length : lineEnd;
      for (let at = lineStart; this.#blank && at < until; at++) {
        if (chunk[at] !== CR) this.#blank = false;
      }
      if (lineEnd < 0) break;
      lineStart = lineEnd + 1;
      if (this.#blank) {
        events.push(this.#complete(chunk.subarray(eventStart, lineStart)));
        eventStart = lineStart;
      }
      this.#blank = true;
    }
    this.#hold(chunk.subarray(eventStart));
    return events;
  }

  /**
   * Take the end of the stream in.
   *
   * @returns What came after the last blank line; empty where nothing did.
   */
  end(): Uint8Array {
    return this.#complete(new Uint8Array());
  }

  #hold(part: Uint8Array): void {
    this.#heldBytes += part.length;
    if (this.#heldBytes > this.#maxBytes) {
      throw new Fault(
        "engine_failed",
        `The engine sent one event of more than ${this.#maxBytes} bytes`,
        { origin: "engine" },
      );
    }
    if (part.length > 0) this.#held.push(part);
  }

  #complete(last: Uint8Array): Uint8Array {
    if (this.#held.length === 0) return last;
    this.#hold(last);
    const whole = new Uint8Array(this.#heldBytes);
    let at = 0;
    for (const part of this.#held) {
      whole.set(part, at);
      at += part.length;
    }
    this.#held = [];
    this.#heldBytes = 0;
    return whole;
  }
}
