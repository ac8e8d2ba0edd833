import { z } from "zod";
import type { JsonObject } from "../../domain/mod.ts";

const count = z.number().nonnegative().nullish().catch(null);
const callSchema = z.object({
  id: z.string().nullish().catch(null),
  function: z.object({
    name: z.string(),
    arguments: z.record(z.string(), z.json()).catch({}),
  }),
});
const lineSchema = z.object({
  message: z.object({
    content: z.string().nullish(),
    thinking: z.string().nullish(),
    tool_calls: z.array(callSchema).nullish().catch(null),
  }).nullish(),
  response: z.string().nullish(),
  thinking: z.string().nullish(),
  done: z.boolean().nullish(),
  done_reason: z.string().nullish(),
  prompt_eval_count: count,
  eval_count: count,
  error: z.string().nullish(),
});
const embedSchema = z.object({
  embeddings: z.array(z.array(z.number())),
  prompt_eval_count: count,
});

type Line = z.infer<typeof lineSchema>;

/** What an answer is written as. */
export type AnswerForm = "chat" | "completion";

/** Of one line; a picture's description is long, a gigabyte without an end is none. */
const LONGEST_LINE = 16 * 1024 * 1024;

/**
 * Write lines of Ollama's own dialect as OpenAI's events.
 *
 * @param form Which route's.
 * @param model The model's name.
 * @returns What turns the one's bytes into the other's.
 */
export function ollamaEvents(
  form: AnswerForm,
  model: string,
): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const writer = new EventWriter(form, model);
  let rest = "";
  const take = (line: string) =>
    line.trim() === "" ? "" : writer.take(parseLine(line));
  return new TransformStream({
    transform(bytes, controller) {
      rest += decoder.decode(bytes, { stream: true });
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > LONGEST_LINE) {
        throw new TypeError("The server sent a line without an end");
      }
      const text = lines.map(take).join("");
      if (text !== "") controller.enqueue(encoder.encode(text));
    },
    flush(controller) {
      const text = take(rest);
      if (text !== "") controller.enqueue(encoder.encode(text));
    },
  });
}

/**
 * Write one object of Ollama's own dialect as OpenAI's whole answer.
 *
 * @param form Which route's.
 * @param model The model's name.
 * @param value What it answered.
 * @returns The answer, or undefined where it is none.
 */
export function ollamaWhole(
  form: AnswerForm,
  model: string,
  value: unknown,
): JsonObject | undefined {
  const line = lineSchema.safeParse(value).data;
  if (line === undefined || line.done !== true) return undefined;
  const { calls, text, thinking } = saidIn(line, 0);
  const finish = finishOf(line, calls.length > 0);
  return {
    ...head(
      form,
      model,
      form === "chat" ? "chat.completion" : "text_completion",
    ),
    choices: [
      form === "completion" ? { index: 0, text, finish_reason: finish } : {
        index: 0,
        message: {
          role: "assistant",
          content: text,
          ...(thinking === "" ? {} : { reasoning_content: thinking }),
          ...(calls.length > 0 ? { tool_calls: calls } : {}),
        },
        finish_reason: finish,
      },
    ],
    usage: usageOf(line),
  };
}

/**
 * Write an answer of `/api/embed` as OpenAI's.
 *
 * @param model The model's name.
 * @param value What it answered.
 * @returns The answer, or undefined where it is none.
 */
export function ollamaVectors(
  model: string,
  value: unknown,
): JsonObject | undefined {
  const answer = embedSchema.safeParse(value).data;
  if (answer === undefined) return undefined;
  const tokens = answer.prompt_eval_count ?? 0;
  return {
    object: "list",
    model,
    data: answer.embeddings.map((embedding, index) => ({
      object: "embedding",
      index,
      embedding,
    })),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}

function parseLine(line: string): Line {
  const { data } = lineSchema.safeParse(JSON.parse(line));
  if (data !== undefined) return data;
  throw new TypeError("The server sent a line of another form");
}

class EventWriter {
  readonly #form: AnswerForm;
  readonly #model: string;
  #calls = 0;

  constructor(form: AnswerForm, model: string) {
    this.#form = form;
    this.#model = model;
  }

  take(line: Line): string {
    if (typeof line.error === "string") {
      return event({ error: { message: line.error } });
    }
    const { calls, text, thinking } = saidIn(line, this.#calls);
    this.#calls += calls.length;
    const delta = {
      ...(text === "" ? {} : { content: text }),
      ...(thinking === "" ? {} : { reasoning_content: thinking }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    };
    const isSaying = Object.keys(delta).length > 0;
    const said = isSaying ? this.#chunk(delta, text, null) : "";
    if (line.done !== true) return said;
    const end = this.#chunk({}, "", finishOf(line, this.#calls > 0));
    const usage = event({
      ...this.#head(),
      choices: [],
      usage: usageOf(line),
    });
    return `${said}${end}${usage}data: [DONE]\n\n`;
  }

  #chunk(delta: JsonObject, text: string, finish: string | null): string {
    return event({
      ...this.#head(),
      choices: [
        this.#form === "completion"
          ? { index: 0, text, finish_reason: finish }
          : {
            index: 0,
            delta: { role: "assistant", ...delta },
            finish_reason: finish,
          },
      ],
    });
  }

  #head(): JsonObject {
    return head(
      this.#form,
      this.#model,
      this.#form === "chat" ? "chat.completion.chunk" : "text_completion",
    );
  }
}

function head(form: AnswerForm, model: string, object: string): JsonObject {
  const id = form === "chat" ? "chatcmpl-ollama" : "cmpl-ollama";
  return { id, object, created: 0, model };
}

function saidIn(line: Line, from: number) {
  const { message } = line;
  return {
    text: message?.content ?? line.response ?? "",
    thinking: message?.thinking ?? line.thinking ?? "",
    calls: (message?.tool_calls ?? []).map((call, at) => ({
      index: from + at,
      id: call.id ?? `call_${from + at}`,
      type: "function",
      function: {
        name: call.function.name,
        arguments: JSON.stringify(call.function.arguments),
      },
    })),
  };
}

function finishOf({ done_reason: reason }: Line, called: boolean): string {
  if (reason === "length") return "length";
  return called ? "tool_calls" : "stop";
}

function usageOf({ eval_count, prompt_eval_count }: Line): JsonObject {
  const prompt = prompt_eval_count ?? 0;
  const output = eval_count ?? 0;
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
  };
}

function event(value: JsonObject): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
