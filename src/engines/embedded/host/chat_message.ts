import type { JsonObject } from "../../../domain/mod.ts";

/** A call that the model made in an earlier turn. */
export interface PastCall {
  readonly id: string;
  readonly name: string;
  /** Arguments as JSON text. */
  readonly arguments: string;
}

/** One message of a conversation, text only. */
export interface ChatMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string;
  readonly toolCalls: readonly PastCall[];
  /** The call that a tool's message answers, or null. */
  readonly toolCallId: string | null;
  readonly name: string | null;
}

/** A function that the model may call. */
export interface Tool {
  readonly name: string;
  /** JSON Schema of its arguments, or null for any object. */
  readonly parameters: JsonObject | null;
  /** Whether its arguments must satisfy the schema, or are guided by it. */
  readonly isStrict: boolean;
  /** The tool as the caller wrote it, for the template. */
  readonly source: JsonObject;
}
