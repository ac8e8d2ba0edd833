import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../domain/mod.ts";

/** The call that a delta belongs to. */
export interface ToolCallSeat {
  /** Its place among the answer's calls, counting from 0 without gaps. */
  readonly index: number;
  /** Its id: the engine's own, or one made here where the engine gave none. */
  readonly id: string;
  readonly name: string;
  /** Whether this delta begins it. */
  readonly begins: boolean;
  /** What the delta adds to its arguments. */
  readonly added: string;
}

interface Call {
  readonly id: string;
  readonly wireIndex: number | null;
  name: string;
  text: string;
}

/**
 * Tells the parallel calls of one answer apart, whatever the engine did with
 * `index` and `id`: left them out, or numbered every call 0 (SSE-09). A call
 * begins with an id not seen before, or with a name where the one before it is
 * complete.
 */
export class ToolCallSeats {
  readonly #calls: Call[] = [];
  readonly #seed: string;

  /** @param seed Makes the ids given out here differ from those of other answers. */
  constructor(seed: string) {
    this.#seed = seed;
  }

  /**
   * Take one entry of a delta's `tool_calls` in.
   *
   * @param entry The entry.
   * @returns Where it belongs, or null where it says nothing.
   */
  take(entry: JsonValue): ToolCallSeat | null {
    if (!isJsonObject(entry)) return null;
    const called = isJsonObject(entry.function) ? entry.function : {};
    const id = filled(entry.id);
    const name = filled(called.name);
    const wireIndex = typeof entry.index === "number" ? entry.index : null;
    const added = argumentsText(called);
    const known = this.#find(id, name, wireIndex);
    if (known !== -1) {
      const call = this.#calls[known];
      if (call === undefined) return null;
      call.text += added;
      return {
        index: known,
        id: call.id,
        name: call.name,
        begins: false,
        added,
      };
    }
    const index = this.#calls.length;
    const call: Call = {
      id: id ?? `call_${this.#seed}_${index}`,
      wireIndex,
      name: name ?? "",
      text: added,
    };
    this.#calls.push(call);
    return { index, id: call.id, name: call.name, begins: true, added };
  }

  /** Place of the call that goes on, or -1 where one begins. */
  #find(
    id: string | null,
    name: string | null,
    wireIndex: number | null,
  ): number {
    if (id !== null) {
      return this.#calls.findLastIndex((call) => call.id === id);
    }
    const found = wireIndex === null
      ? this.#calls.length - 1
      : this.#calls.findLastIndex((call) => call.wireIndex === wireIndex);
    const call = this.#calls[found];
    if (call === undefined || name === null) return found;
    return wireIndex === null || isWhole(call.text) ? -1 : found;
  }
}

/** Engines of Ollama's descent give an object where OpenAI's dialect has a string (TRN-04). */
function argumentsText(called: JsonObject): string {
  const given = called.arguments;
  if (typeof given === "string") return given;
  return given === undefined || given === null ? "" : JSON.stringify(given);
}

function filled(value: JsonValue | undefined): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/**
 * Tell whether a text is one complete JSON object.
 *
 * @param text Arguments so far.
 * @returns True once nothing is missing.
 */
export function isWhole(text: string): boolean {
  if (!text.trimEnd().endsWith("}")) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    // Not yet; the answer is the boolean.
    return false;
  }
}
