import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../domain/mod.ts";

interface PastCall {
  readonly id: string;
  readonly name: string;
}

/**
 * Gives past tool calls ids and pairs results with them: Ollama's dialect has
 * neither, but keeps the order and mostly the tool's name.
 */
export class CallPairing {
  readonly #open: PastCall[] = [];
  #count = 0;

  /**
   * Name a past call.
   *
   * @param call An entry of a message's `tool_calls`.
   * @returns The entry in the internal dialect.
   */
  call(call: JsonValue): JsonObject {
    const entry = isJsonObject(call) ? call : {};
    const called = isJsonObject(entry.function) ? entry.function : {};
    const name = typeof called.name === "string" ? called.name : "";
    const id = typeof entry.id === "string" && entry.id !== ""
      ? entry.id
      : `call_${this.#count}`;
    this.#count++;
    this.#open.push({ id, name });
    const given = called.arguments ?? {};
    return {
      id,
      type: "function",
      function: {
        name,
        arguments: typeof given === "string" ? given : JSON.stringify(given),
      },
    };
  }

  /**
   * Find the call that a tool's message answers.
   *
   * @param message The message.
   * @returns The call's id.
   */
  answered(message: JsonObject): string {
    const { tool_call_id: id, tool_name: name } = message;
    if (typeof id === "string" && id !== "") {
      this.#close((call) => call.id === id);
      return id;
    }
    const found = this.#close((call) => call.name === name) ??
      this.#close(() => true);
    return found?.id ?? `call_${this.#count++}`;
  }

  #close(fits: (call: PastCall) => boolean): PastCall | undefined {
    const at = this.#open.findIndex(fits);
    return at < 0 ? undefined : this.#open.splice(at, 1)[0];
  }
}
