import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Resume,
} from "../domain/mod.ts";
import { heldTail } from "./held_tail.ts";
import { readStreamEvent } from "./stream_facts.ts";

/** What all chunks of one answer share. */
interface Head {
  readonly id: JsonValue | undefined;
  readonly created: JsonValue | undefined;
  readonly model: JsonValue | undefined;
}

const MAX_TEXT_CHARACTERS = 1024 * 1024;

/**
 * Keeps what the client has of one streamed answer, so that another engine can
 * go on with it, and makes the chunks of all engines those of one answer. What
 * may turn out to begin a stop string, or half a character, is held back: the
 * engine that goes on must see it as not yet written.
 */
export class Continuation {
  readonly #stops: readonly string[];
  #head: Head | null = null;
  /** A chunk with text, as the pattern of others. */
  #pattern: JsonObject | null = null;
  #text = "";
  #tokens = 0;
  #held = "";
  #heldTokens = 0;
  #isResumed = false;
  #isPossible = true;

  /** @param stops The request's stop strings. */
  constructor(stops: readonly string[]) {
    this.#stops = stops.filter((stop) => stop !== "");
  }

  /** What the client has, or null where nobody could go on with it. */
  point(): Resume | null {
    return this.#isPossible ? { text: this.#text, tokens: this.#tokens } : null;
  }

  /** Another engine goes on: what was held back of the one before is forgotten. */
  resume(): void {
    this.#isResumed = true;
    this.#held = "";
    this.#heldTokens = 0;
  }

  /**
   * Take events of the engine at work.
   *
   * @param events Raw events in order.
   * @returns What of them goes to the client.
   */
  pass(events: readonly Uint8Array[]): readonly Uint8Array[] {
    return events.flatMap((bytes) => this.#event(bytes));
  }

  #event(bytes: Uint8Array): readonly Uint8Array[] {
    const event = readStreamEvent(bytes);
    if (event.kind !== "chunk") return [bytes];
    const { json, facts } = event;
    this.#head ??= { id: json.id, created: json.created, model: json.model };
    if (!facts.hasChoices) return [this.#written(json, bytes)];
    const text = textOf(json);
    if (text === null) {
      // Reasoning and tool calls are no text that an engine could be given.
      this.#isPossible &&= !facts.hasContent;
      if (facts.finish !== null) return this.#finish(json, bytes);
      return this.#isResumed && !facts.hasContent
        ? []
        : [this.#written(json, bytes)];
    }
    return this.#content(json, bytes, text, facts.finish !== null);
  }

  #content(
    json: JsonObject,
    bytes: Uint8Array,
    text: string,
    isLast: boolean,
  ): readonly Uint8Array[] {
    this.#pattern = json;
    const whole = this.#held + text;
    const held = isLast ? 0 : heldTail(whole, this.#stops);
    const passing = whole.slice(0, whole.length - held);
    const isWhole = this.#held === "" && held === 0;
    this.#held = whole.slice(passing.length);
    this.#heldTokens++;
    if (passing === "") return [];
    this.#text += passing;
    this.#tokens += this.#heldTokens;
    this.#heldTokens = 0;
    this.#isPossible &&= this.#text.length <= MAX_TEXT_CHARACTERS;
    return isWhole
      ? [this.#written(json, bytes)]
      : [encode(this.#own(withText(json, passing)))];
  }

  /** What was held back was no stop string after all: its engine would have cut it off. */
  #finish(json: JsonObject, bytes: Uint8Array): readonly Uint8Array[] {
    const finish = this.#written(json, bytes);
    if (this.#held === "" || this.#pattern === null) return [finish];
    const rest = encode(this.#own(withText(this.#pattern, this.#held)));
    this.#text += this.#held;
    this.#held = "";
    return [rest, finish];
  }

  #written(json: JsonObject, bytes: Uint8Array): Uint8Array {
    return this.#isResumed ? encode(this.#own(json)) : bytes;
  }

  #own(json: JsonObject): JsonObject {
    return this.#isResumed ? { ...json, ...this.#head } : json;
  }
}

/** The only choice's text, or null where it has none. */
function textOf(json: JsonObject): string | null {
  const choice = onlyChoice(json);
  if (choice === null) return null;
  const text = isJsonObject(choice.delta) ? choice.delta.content : choice.text;
  return typeof text === "string" && text !== "" ? text : null;
}

function withText(json: JsonObject, text: string): JsonObject {
  const choice = onlyChoice(json) ?? {};
  const changed = isJsonObject(choice.delta)
    ? { ...choice, delta: { ...choice.delta, content: text } }
    : { ...choice, text };
  return { ...json, choices: [changed] };
}

function onlyChoice(json: JsonObject): JsonObject | null {
  const [choice] = Array.isArray(json.choices) ? json.choices : [];
  return isJsonObject(choice) ? choice : null;
}

function encode(json: JsonObject): Uint8Array {
  return new TextEncoder().encode(`data: ${JSON.stringify(json)}\n\n`);
}
