import { type JsonObject, parseObject } from "../../domain/mod.ts";

/** An item of a response's output as it grows. */
export type OutputItem =
  | { readonly kind: "message"; readonly id: string; text: string }
  | { readonly kind: "reasoning"; readonly id: string; text: string }
  | {
    readonly kind: "call";
    readonly id: string;
    readonly callId: string;
    readonly name: string;
    /** Whether its input is free text (`custom` tools). */
    readonly isFree: boolean;
    /** Its arguments so far, as JSON text. */
    text: string;
  };

/**
 * Write an item.
 *
 * @param item The item.
 * @param status `in_progress` until it is whole; then it shows its content.
 */
export function itemObject(
  item: OutputItem,
  status: "in_progress" | "completed" | "incomplete",
): JsonObject {
  const begins = status === "in_progress";
  switch (item.kind) {
    case "message":
      return {
        id: item.id,
        type: "message",
        status,
        role: "assistant",
        content: begins ? [] : [textPart(item.text)],
      };
    case "reasoning":
      return {
        id: item.id,
        type: "reasoning",
        summary: [],
        ...(begins
          ? {}
          : { content: [{ type: "reasoning_text", text: item.text }] }),
      };
    case "call": {
      const head = { id: item.id, call_id: item.callId, name: item.name };
      return item.isFree
        ? {
          ...head,
          type: "custom_tool_call",
          status,
          input: begins ? "" : freeInput(item.text),
        }
        : {
          ...head,
          type: "function_call",
          status,
          arguments: begins ? "" : item.text,
        };
    }
    default: {
      const never: never = item;
      return never;
    }
  }
}

/**
 * A part of a message.
 *
 * @param text What it says.
 */
export function textPart(text: string): JsonObject {
  return { type: "output_text", text, annotations: [], logprobs: [] };
}

/**
 * What a tool of free text is to get. A call that was cut off keeps its text as it came.
 *
 * @param text The call's arguments.
 */
export function freeInput(text: string): string {
  const input = parseObject(text)?.input;
  return typeof input === "string" ? input : text;
}
