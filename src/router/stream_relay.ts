import { Fault, type JsonObject } from "../domain/mod.ts";
import { AnswerTally } from "./answer_tally.ts";
import type { CutEvent } from "./cut_event.ts";
import { readStreamEvent } from "./stream_facts.ts";
import { usageEvent } from "./usage_event.ts";

/** What the client is to get for one event of the engine. */
export type RelayStep =
  /** Nothing yet: the attempt may still be given to another engine. */
  | { readonly kind: "held" }
  | { readonly kind: "send"; readonly events: readonly Uint8Array[] }
  /** The terminator came; these are the last events. */
  | { readonly kind: "complete"; readonly events: readonly Uint8Array[] }
  | { readonly kind: "broken"; readonly fault: Fault };

const MAX_HELD_BYTES = 1024 * 1024;

/**
 * Decides, event by event, what of one attempt's stream the client sees. Until
 * its first content everything is held back, so that another attempt can take
 * over and the client still sees one role chunk. Usage is always counted and
 * shown only to those who asked, once, before the terminator. No input or
 * output of its own.
 */
export class StreamRelay {
  /** What the answer brought. */
  readonly tally: AnswerTally = new AnswerTally();
  readonly #includeUsage: boolean;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #lastChunk: JsonObject | null = null;
  #usageChunk: JsonObject | null = null;

  /** @param includeUsage Whether the caller asked for the usage chunk. */
  constructor(includeUsage: boolean) {
    this.#includeUsage = includeUsage;
  }

  /**
   * Take an event in.
   *
   * @param cut The event.
   * @returns What to do.
   */
  take({ bytes, event: read }: CutEvent): RelayStep {
    const event = read ?? readStreamEvent(bytes);
    switch (event.kind) {
      case "comment":
        return this.tally.hasContent ? send([bytes]) : { kind: "held" };
      case "done":
        return {
          kind: "complete",
          events: [...this.#release(), ...this.#usageEvents(), bytes],
        };
      case "error":
        return broken(`The engine reported an error: ${event.message}`);
      case "unreadable":
        return broken("The engine sent an event that is no JSON object");
      case "chunk": {
        this.tally.add(event.facts);
        if (event.facts.usage !== null) this.#usageChunk = event.json;
        if (!event.facts.hasChoices) {
          return this.tally.hasContent ? send([]) : { kind: "held" };
        }
        this.#lastChunk = event.json;
        return this.tally.hasContent
          ? send([...this.#release(), bytes])
          : this.#hold(bytes);
      }
      default: {
        const never: never = event;
        return never;
      }
    }
  }

  #hold(bytes: Uint8Array): RelayStep {
    this.#heldBytes += bytes.length;
    if (this.#heldBytes > MAX_HELD_BYTES) {
      return broken("The engine sent a long stream without any content");
    }
    this.#held.push(bytes);
    return { kind: "held" };
  }

  #release(): readonly Uint8Array[] {
    const held = this.#held;
    this.#held = [];
    return held;
  }

  #usageEvents(): readonly Uint8Array[] {
    if (!this.#includeUsage || this.#usageChunk === null) return [];
    return [usageEvent(this.#usageChunk, this.#lastChunk)];
  }
}

function send(events: readonly Uint8Array[]): RelayStep {
  return { kind: "send", events };
}

function broken(message: string): RelayStep {
  return {
    kind: "broken",
    fault: new Fault("engine_failed", message, { origin: "engine" }),
  };
}
