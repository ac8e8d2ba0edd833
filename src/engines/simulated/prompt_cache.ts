import type { InferenceRequest, JsonValue } from "../../domain/mod.ts";

/**
 * The prompts that a simulated model has evaluated, the latest ones: what a new
 * prompt shares with one of them, message by message, needs no prefill again.
 */
export class PromptCache {
  readonly #most: number;
  /** Each as its messages; the one used last at the end. */
  #prompts: readonly (readonly string[])[] = [];

  /** @param most Prompts that are kept. */
  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Prompt tokens of a request that need no prefill. The last one always does.
   *
   * @param request A chat or completion.
   */
  look(request: InferenceRequest): number {
    const messages = messagesOf(request);
    const all = charactersOf(messages);
    let most = 0;
    for (const prompt of this.#prompts) {
      const shared = messages.findIndex((one, at) => one !== prompt[at]);
      const head = shared < 0 ? messages : messages.slice(0, shared);
      most = Math.max(most, charactersOf(head));
    }
    const tokens = Math.floor(request.promptTokens * most / Math.max(1, all));
    return Math.max(0, Math.min(tokens, request.promptTokens - 1));
  }

  /**
   * Keep a prompt with its answer.
   *
   * @param request The request that was answered.
   * @param answer Text of the answer, also of one that broke off.
   */
  keep(request: InferenceRequest, answer: string): void {
    const messages = messagesOf(request);
    const whole = [...messages, messageText("assistant", answer)];
    const others = this.#prompts.filter((prompt) =>
      !prompt.every((one, at) => one === whole[at])
    );
    this.#prompts = this.#most < 1 ? [] : [...others, whole].slice(-this.#most);
  }
}

function messagesOf({ body }: InferenceRequest): readonly string[] {
  const { messages, prompt } = body;
  if (!Array.isArray(messages)) return [JSON.stringify(prompt ?? "")];
  return messages.map((message: JsonValue) =>
    typeof message === "object" && message !== null &&
      "role" in message && typeof message.content === "string"
      ? messageText(String(message.role), message.content)
      : JSON.stringify(message)
  );
}

/** Trailing blanks are what templates trim. */
function messageText(role: string, content: string): string {
  return `${role} ${content.trimEnd()}`;
}

function charactersOf(messages: readonly string[]): number {
  return messages.reduce((sum, text) => sum + text.length, 0);
}
