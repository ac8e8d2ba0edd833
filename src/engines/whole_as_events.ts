import {
  Fault,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type PieceSource,
} from "../domain/mod.ts";
import { readBoundedJson } from "./upstream/bounded_json.ts";

const DONE = "data: [DONE]\n\n";

/** A whole answer of a server that was asked for a stream and made none, as the events it stands for. */
export class WholeAsEvents implements PieceSource {
  readonly #whole: PieceSource;
  #isOver = false;

  /** @param whole The answer's body, this one's from now on. */
  constructor(whole: PieceSource) {
    this.#whole = whole;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  async read(): Promise<Uint8Array | undefined> {
    if (this.#isOver) return undefined;
    const whole = await readBoundedJson(this.#whole);
    this.#isOver = true;
    const events = eventsOfWhole(whole);
    if (events === undefined) {
      throw new Fault(
        "engine_failed",
        "The engine's answer can not be used: it is no JSON object",
        { origin: "engine" },
      );
    }
    return new TextEncoder().encode(events);
  }

  async cancel(reason: unknown): Promise<void> {
    this.#isOver = true;
    await this.#whole.cancel(reason);
  }
}

/**
 * Write a whole answer as the events that a stream of it would have had. Pure.
 *
 * @param whole The answer, of a chat or of a plain completion; or an error.
 * @returns The events, or undefined for what is no JSON object.
 */
export function eventsOfWhole(
  whole: JsonValue | undefined,
): string | undefined {
  if (!isJsonObject(whole)) return undefined;
  const { choices, usage = null, ...head } = whole;
  if (!Array.isArray(choices)) return eventOf(whole);
  const isChat = head.object === "chat.completion";
  const base = isChat ? { ...head, object: "chat.completion.chunk" } : head;
  const steps = choices.filter(isJsonObject).flatMap((choice) =>
    isChat ? stepsOfMessage(choice) : [choice]
  );
  const said = steps.map((step) => eventOf({ ...base, choices: [step] }));
  const used = usage === null ? "" : eventOf({ ...base, choices: [], usage });
  return `${said.join("")}${used}${DONE}`;
}

/** What was said, and how it ended: readers take the two for separate events. */
function stepsOfMessage(choice: JsonObject): readonly JsonObject[] {
  const { finish_reason = null, message, ...rest } = choice;
  const said = isJsonObject(message) ? message : {};
  const { tool_calls: calls } = said;
  const delta = Array.isArray(calls)
    ? {
      ...said,
      tool_calls: calls.map((call, index) =>
        isJsonObject(call) ? { index, ...call } : call
      ),
    }
    : said;
  const { index = 0 } = choice;
  return [
    { ...rest, delta, finish_reason: null },
    { index, delta: {}, finish_reason },
  ];
}

function eventOf(value: JsonObject): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
