import type { PieceSource } from "../domain/mod.ts";
import { SseEvents } from "./sse_events.ts";
import { readStreamEvent, type StreamEvent } from "./stream_facts.ts";

/** One server-sent event, cut out of an engine's bytes. */
export interface CutEvent {
  /** As it came. */
  readonly bytes: Uint8Array;
  /** What it is; null where that is read again when it is wanted, so that what waits for a slow reader stays small. */
  readonly event: StreamEvent | null;
}

/** Events of one answer, for one reader. */
export interface EventSource {
  /**
   * Wait for the events that the next piece completes: perhaps none.
   *
   * @returns Undefined at the end.
   * @throws What broke the answer off.
   */
  events(): Promise<readonly CutEvent[] | undefined>;
  /** Give the rest up. */
  cancel(reason: unknown): Promise<void>;
}

/** Cuts pieces into events and reads them. */
export class EventCutter {
  readonly #cutter = new SseEvents();

  /**
   * Take a piece in.
   *
   * @throws {Fault} When an event is too long.
   */
  push(piece: Uint8Array): readonly CutEvent[] {
    return this.#cutter.push(piece).map(cut);
  }

  /** Take the end in: what came behind the last blank line is an event too. */
  end(): readonly CutEvent[] {
    const rest = this.#cutter.end();
    return rest.length === 0 ? [] : [cut(rest)];
  }
}

/**
 * The events of an answer of which only the bytes come.
 *
 * @param source The bytes.
 */
export function eventsOf(source: PieceSource): EventSource {
  const cutter = new EventCutter();
  let isOver = false;
  return {
    async events() {
      if (isOver) return undefined;
      const piece = await source.read();
      if (piece !== undefined) return cutter.push(piece);
      isOver = true;
      const rest = cutter.end();
      return rest.length === 0 ? undefined : rest;
    },
    cancel: (reason) => source.cancel(reason),
  };
}

function cut(bytes: Uint8Array): CutEvent {
  return { bytes, event: readStreamEvent(bytes) };
}
