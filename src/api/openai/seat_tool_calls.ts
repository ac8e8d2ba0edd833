import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseExactJson,
} from "../../domain/mod.ts";
import type { ByteTransform } from "../byte_transform.ts";
import { ToolCallSeats } from "../dialect/tool_call_seats.ts";

/**
 * Give every parallel tool call of a stream its own index and id where the
 * engine left them out or used one twice (SSE-09). Lines in which nothing is
 * wrong pass as they are.
 *
 * @param seed Makes ids given out here unique to this answer.
 * @returns A transform over server-sent events.
 */
export function seatToolCalls(
  seed: string,
): ByteTransform {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const choices = new Map<number, ToolCallSeats>();
  let rest = "";

  function seatsOf(choice: JsonObject): ToolCallSeats {
    const index = typeof choice.index === "number" ? choice.index : 0;
    const seats = choices.get(index) ??
      new ToolCallSeats(index === 0 ? seed : `${seed}_${index}`);
    choices.set(index, seats);
    return seats;
  }
  function seated(line: string): string {
    if (!line.startsWith("data:") || !line.includes('"tool_calls"')) {
      return line;
    }
    const event = parseEvent(line.slice("data:".length));
    if (!isJsonObject(event) || !Array.isArray(event.choices)) return line;
    let changed = false;
    const repaired = event.choices.map((choice) => {
      if (!isJsonObject(choice) || !isJsonObject(choice.delta)) return choice;
      const calls = choice.delta.tool_calls;
      if (!Array.isArray(calls)) return choice;
      const seats = seatsOf(choice);
      const settled = calls.map((call) => settle(call, seats));
      if (settled.every((call, at) => call === calls[at])) return choice;
      changed = true;
      return { ...choice, delta: { ...choice.delta, tool_calls: settled } };
    });
    if (!changed) return line;
    const end = line.endsWith("\r") ? "\r" : "";
    return `data: ${JSON.stringify({ ...event, choices: repaired })}${end}`;
  }

  return {
    transform(chunk, sink) {
      const text = rest + decoder.decode(chunk, { stream: true });
      const cut = text.lastIndexOf("\n") + 1;
      rest = text.slice(cut);
      if (cut === 0) return;
      const lines = text.slice(0, cut).split("\n").map(seated).join("\n");
      sink.enqueue(encoder.encode(lines));
    },
    flush(sink) {
      rest += decoder.decode();
      if (rest !== "") sink.enqueue(encoder.encode(seated(rest)));
    },
  };
}

function settle(call: JsonValue, seats: ToolCallSeats): JsonValue {
  const seat = seats.take(call);
  if (seat === null || !isJsonObject(call)) return call;
  const given = isJsonObject(call.function) ? call.function.arguments : "";
  const isText = given === undefined || typeof given === "string";
  const hasId = !seat.begins || call.id === seat.id;
  if (call.index === seat.index && hasId && isText) return call;
  return {
    ...call,
    index: seat.index,
    ...(seat.begins ? { id: seat.id, type: call.type ?? "function" } : {}),
    ...(isText || !isJsonObject(call.function)
      ? {}
      : { function: { ...call.function, arguments: seat.added } }),
  };
}

function parseEvent(data: string): JsonValue | undefined {
  try {
    return parseExactJson(data);
  } catch {
    // `[DONE]`, and events of several lines, hold no call.
    return undefined;
  }
}
