import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../domain/mod.ts";

/**
 * Write a whole answer as the events of a stream, for a caller who asked for
 * those and an engine that does not stream: clients read no answer at all
 * where they wait for events.
 *
 * @param answer The answer to a chat or a completion.
 * @param includeUsage Whether the caller asked for the usage.
 * @returns All events, the last one included.
 */
export function wholeAsEvents(
  { choices, usage, ...head }: JsonObject,
  includeUsage: boolean,
): string {
  const all = Array.isArray(choices) ? choices.filter(isJsonObject) : [];
  const base = head.object === "chat.completion"
    ? { ...head, object: "chat.completion.chunk" }
    : head;
  return event({ ...base, choices: all.map(begun) }) +
    event({ ...base, choices: all.map(ended) }) +
    (includeUsage && isJsonObject(usage)
      ? event({ ...base, choices: [], usage })
      : "") +
    "data: [DONE]\n\n";
}

/** What a choice says. */
function begun({ message, ...choice }: JsonObject): JsonObject {
  return {
    ...choice,
    ...(isJsonObject(message) ? { delta: deltaOf(message) } : {}),
    finish_reason: null,
  };
}

/** That it has been said. */
function ended({ index, message, finish_reason }: JsonObject): JsonObject {
  return {
    index,
    ...(isJsonObject(message) ? { delta: {} } : { text: "" }),
    finish_reason,
  };
}

function deltaOf({ tool_calls: calls, ...said }: JsonObject): JsonObject {
  return Array.isArray(calls)
    ? {
      ...said,
      tool_calls: calls.map((call, index): JsonValue =>
        isJsonObject(call) ? { index, ...call } : call
      ),
    }
    : said;
}

function event(data: JsonObject): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
