import type { ChatMessage, Tool } from "./chat_message.ts";
import type { TemplateOptions } from "./chat_template.ts";
import { RequestError } from "./request_error.ts";

/**
 * How a model writes tool calls: `open NAME middle ARGUMENTS`, then either
 * `between` and the next name, or `close`.
 */
export interface CallForm {
  readonly open: string;
  readonly middle: string;
  readonly between: string;
  readonly close: string;
  /** Beginning of `open` by which calls are told from plain text. */
  readonly marker: string;
  /** Whether the marker counts at the very beginning of an answer only. */
  readonly anchored: boolean;
}

/** A form with where it came from. */
export interface FoundForm extends CallForm {
  /** Whether the template itself tells the model about tools. */
  readonly inTemplate: boolean;
}

/** The form that Hermes and Qwen made common, for templates without one. */
export const DEFAULT_FORM: FoundForm = {
  open: '<tool_call>\n{"name": "',
  middle: '", "arguments": ',
  between: '}\n</tool_call>\n<tool_call>\n{"name": "',
  close: "}\n</tool_call>",
  marker: "<tool_call>",
  anchored: false,
  inTemplate: false,
};

const PROBE_NAMES = ["covey_probe_one", "covey_probe_two"] as const;
const PROBE_ARGUMENTS = '{"covey_key": "covey_value"}';
const PROBE_ANSWER = "covey_probe_answer";

/** Renders a conversation; `ChatTemplate.render`. */
type Render = (
  messages: readonly ChatMessage[],
  options: TemplateOptions,
) => string;

/**
 * Find out how a template writes tool calls, by letting it write some.
 *
 * @param render The template.
 * @param endings Texts of the tokens that end an answer.
 * @returns The form, or the default one where the template has none.
 */
export function findCallForm(
  render: Render,
  endings: readonly string[],
): FoundForm {
  try {
    return probe(render, endings) ?? DEFAULT_FORM;
  } catch (problem) {
    // A template that knows no tools may refuse the probe.
    if (problem instanceof RequestError) return DEFAULT_FORM;
    throw problem;
  }
}

function probe(
  render: Render,
  endings: readonly string[],
): FoundForm | undefined {
  const tools = PROBE_NAMES.map(probeTool);
  const asked = [message("user", "Hi")];
  const options = { tools, addGenerationPrompt: true, variables: {} };
  const prompt = render(asked, options);
  if (!prompt.includes(PROBE_NAMES[0])) return undefined;
  function answer(content: string, calls: readonly string[]): string {
    const whole = render(
      [...asked, message("assistant", content, calls)],
      { ...options, addGenerationPrompt: false },
    );
    return whole.startsWith(prompt) ? whole.slice(prompt.length) : "";
  }
  const plain = answer(PROBE_ANSWER, []);
  const ending = plain.slice(plain.indexOf(PROBE_ANSWER) + PROBE_ANSWER.length);
  const one = splitCall(answer("", [PROBE_NAMES[0]]), PROBE_NAMES[0]);
  const two = splitCall(answer("", PROBE_NAMES), PROBE_NAMES[0]);
  if (one === undefined || two === undefined) return undefined;
  const second = splitCall(two.after, PROBE_NAMES[1]);
  if (second === undefined || second.middle !== one.middle) return undefined;
  // Templates of reasoning models write an empty thought before past answers.
  const open = one.before.replace(/^\s*<think>[\s\S]*?<\/think>\s*/, "")
    .trimStart();
  const close = cutEnding(one.after, ending, endings);
  const marker = markerOf(open);
  if (marker === "" || close === "") return undefined;
  return {
    open,
    middle: one.middle,
    between: second.before,
    close,
    marker,
    // Plain JSON may stand anywhere in an answer without being a call.
    anchored: jsonAt(open) === 0,
    inTemplate: true,
  };
}

/** What stands around the name and the arguments of the first call of a text. */
function splitCall(
  text: string,
  name: string,
): { before: string; middle: string; after: string } | undefined {
  const nameAt = text.indexOf(name);
  const keyAt = text.indexOf('"covey_key"', nameAt);
  const valueAt = text.indexOf('"covey_value"', keyAt);
  if (nameAt < 0 || keyAt < 0 || valueAt < 0) return undefined;
  const argumentsAt = text.lastIndexOf("{", keyAt);
  const argumentsEnd = text.indexOf("}", valueAt) + 1;
  const nameEnd = nameAt + name.length;
  if (argumentsAt < nameEnd || argumentsEnd === 0) return undefined;
  return {
    before: text.slice(0, nameAt),
    middle: text.slice(nameEnd, argumentsAt),
    after: text.slice(argumentsEnd),
  };
}

function cutEnding(
  text: string,
  ending: string,
  endings: readonly string[],
): string {
  let cut = ending !== "" && text.endsWith(ending)
    ? text.slice(0, text.length - ending.length)
    : text;
  for (const one of endings) {
    const at = one === "" ? -1 : cut.indexOf(one);
    if (at >= 0) cut = cut.slice(0, at);
  }
  return cut;
}

/** Where the JSON of a call begins in `open`, -1 when nowhere. */
function jsonAt(open: string): number {
  return open.search(/[{[]\s*[{"]/);
}

function markerOf(open: string): string {
  const before = open.slice(0, Math.max(0, jsonAt(open))).trimEnd();
  return before === "" ? open.trimEnd() : before;
}

function probeTool(name: string): Tool {
  const parameters = {
    type: "object",
    properties: { covey_key: { type: "string" } },
  };
  return {
    name,
    parameters,
    isStrict: false,
    source: {
      type: "function",
      function: { name, description: name, parameters },
    },
  };
}

function message(
  role: "user" | "assistant",
  content: string,
  calls: readonly string[] = [],
): ChatMessage {
  return {
    role,
    content,
    toolCalls: calls.map((name, at) => ({
      id: `covey${1000 + at}`,
      name,
      arguments: PROBE_ARGUMENTS,
    })),
    toolCallId: null,
    name: null,
  };
}

/**
 * The conversation with an instruction about tools, for templates that have
 * none of their own.
 *
 * @param messages The conversation.
 * @param tools What may be called.
 * @returns The conversation, its system message first.
 */
export function describeTools(
  messages: readonly ChatMessage[],
  tools: readonly Tool[],
): readonly ChatMessage[] {
  const lines = [
    "You may call these functions:",
    ...tools.map((tool) => JSON.stringify(tool.source)),
    "To call one, answer with nothing but:",
    `${DEFAULT_FORM.open}NAME${DEFAULT_FORM.middle}ARGUMENTS${DEFAULT_FORM.close}`,
  ];
  const instruction = lines.join("\n");
  const [first, ...rest] = messages;
  if (first?.role === "system") {
    return [
      { ...first, content: `${first.content}\n\n${instruction}` },
      ...rest,
    ];
  }
  return [
    {
      role: "system",
      content: instruction,
      toolCalls: [],
      toolCallId: null,
      name: null,
    },
    ...messages,
  ];
}
