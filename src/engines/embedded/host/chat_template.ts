import { Template } from "@huggingface/jinja";
import { isJsonObject, type JsonObject } from "../../../domain/mod.ts";
import type { ChatMessage, Tool } from "./chat_message.ts";
import { RequestError } from "./request_error.ts";

/** What a template is rendered with beside the messages. */
export interface TemplateOptions {
  readonly tools: readonly Tool[];
  /** Whether the prompt ends where the assistant is to speak. */
  readonly addGenerationPrompt: boolean;
  /** Further variables of the template (llama-server's `chat_template_kwargs`). */
  readonly variables: JsonObject;
}

const CHATML = [
  "{%- for message in messages %}",
  "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}",
  "{%- endfor %}",
  "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}",
].join("\n");

function readArguments(text: string): JsonObject | string {
  try {
    const parsed = JSON.parse(text);
    return isJsonObject(parsed) ? parsed : text;
  } catch (problem) {
    if (problem instanceof SyntaxError) return text;
    throw problem;
  }
}

/** Messages the way templates read them; most want arguments as an object. */
function templateMessages(
  messages: readonly ChatMessage[],
  parseArguments: boolean,
): readonly Record<string, unknown>[] {
  return messages.map((message) => ({
    role: message.role,
    content: message.content,
    ...(message.name === null ? {} : { name: message.name }),
    ...(message.toolCallId === null
      ? {}
      : { tool_call_id: message.toolCallId }),
    ...(message.toolCalls.length === 0 ? {} : {
      tool_calls: message.toolCalls.map((call) => ({
        id: call.id,
        type: "function",
        function: {
          name: call.name,
          arguments: parseArguments
            ? readArguments(call.arguments)
            : call.arguments,
        },
      })),
    }),
  }));
}

/** A model's own chat template; ChatML where the model has none. */
export class ChatTemplate {
  /** The template's text. */
  readonly source: string;
  readonly #template: Template;
  readonly #tokens: { readonly bos_token: string; readonly eos_token: string };

  /**
   * @param source `tokenizer.chat_template` of the GGUF, or null.
   * @param bos Text of the token that begins a sequence.
   * @param eos Text of the token that ends one.
   * @throws {Error} When the template can not be parsed.
   */
  constructor(source: string | null, bos: string, eos: string) {
    this.source = source ?? CHATML;
    this.#template = new Template(this.source);
    this.#tokens = { bos_token: bos, eos_token: eos };
  }

  /**
   * Write a conversation down as the prompt the model was trained on.
   *
   * @param messages The conversation.
   * @param options Tools and variables.
   * @returns The prompt.
   * @throws {RequestError} When the template refuses, with its reason.
   */
  render(messages: readonly ChatMessage[], options: TemplateOptions): string {
    try {
      return this.#render(messages, options, true);
    } catch (problem) {
      const hasCalls = messages.some((one) => one.toolCalls.length > 0);
      if (hasCalls) {
        try {
          return this.#render(messages, options, false);
        } catch (second) {
          throw refusal(second);
        }
      }
      throw refusal(problem);
    }
  }

  #render(
    messages: readonly ChatMessage[],
    options: TemplateOptions,
    parseArguments: boolean,
  ): string {
    return this.#template.render({
      ...options.variables,
      ...this.#tokens,
      messages: templateMessages(messages, parseArguments),
      // Templates ask `if tools`, and an empty list counts as one in some.
      tools: options.tools.length === 0
        ? null
        : options.tools.map((tool) => tool.source),
      add_generation_prompt: options.addGenerationPrompt,
    });
  }
}

function refusal(problem: unknown): RequestError {
  const reason = problem instanceof Error ? problem.message : String(problem);
  return new RequestError(
    400,
    `The model's chat template refuses these messages: ${reason}`,
    { param: "messages" },
  );
}
