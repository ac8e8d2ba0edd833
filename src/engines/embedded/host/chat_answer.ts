import type { JsonObject } from "../../../domain/mod.ts";
import { describeTools } from "./call_form.ts";
import {
  type ChatRequest,
  parseChatRequest,
  parseDelivery,
  type ToolWish,
} from "./chat_request.ts";
import { buildConstraint } from "./constraint.ts";
import type { Job, StopReason } from "./generate.ts";
import type { ChatModel } from "./load_model.ts";
import { chatLogprobs } from "./logprobs.ts";
import { tokenizePrompt } from "./prompt.ts";
import {
  type ChatHost,
  type RunningAnswer,
  startAnswer,
  stepsOf,
} from "./running_answer.ts";
import { parseResumed, resumeJob, wholeUsage } from "./resume.ts";
import { parseSampling } from "./sampling.ts";
import { encodeDone, encodeEvent, eventStream } from "./sse.ts";
import { streamErrors } from "./stream_errors.ts";
import { type Timings, type Usage, usageOf } from "./timings.ts";
import type { ChosenToken } from "./token_chances.ts";
import { type CallPart, CallReader } from "./tool_calls.ts";

/** OpenAI's reasons for the end of a chat answer. */
type FinishReason = StopReason | "tool_calls";

type Piece =
  | (CallPart & {
    /** Tokens that were written since the last piece that has some. */
    readonly tokens?: readonly ChosenToken[];
  })
  | {
    readonly kind: "finish";
    readonly reason: FinishReason;
    readonly timings: Timings;
  };

/**
 * Answer a chat request, streamed or not.
 *
 * @param host The model and its slots.
 * @param body The request.
 * @param abort Its signal stops the work; it is aborted when the client leaves a stream.
 * @returns OpenAI's answer with llama-server's timings.
 * @throws {RequestError} When the request is wrong, does not fit or can not wait.
 */
export async function answerChat(
  host: ChatHost,
  body: JsonObject,
  abort: AbortController,
): Promise<Response> {
  const delivery = parseDelivery(body);
  const request = parseChatRequest(body);
  const { chat } = host;
  const resumed = parseResumed(body);
  const whole: Job = {
    prompt: tokenizePrompt(chat.model, renderPrompt(chat, request)),
    sampling: parseSampling(body, host.entropy),
    constraint: buildConstraint(
      request.format,
      request.tools === null ? null : { ...request.tools, form: chat.callForm },
    ),
    showSpecial: request.tools !== null,
  };
  const { job, textTokens } = resumeJob(chat.model, whole, resumed);
  const answer = await startAnswer(host, job, abort.signal);
  const pieces = readPieces(
    host,
    answer,
    request.tools,
    job.sampling.topLogprobs !== null,
  );
  const head = {
    id: `chatcmpl-${host.entropy.uuid().replaceAll("-", "")}`,
    created: Math.floor(host.clock.now() / 1000),
    model: delivery.model ?? chat.name,
  };
  const newId = () => `call_${host.entropy.uuid().replaceAll("-", "")}`;
  if (!delivery.stream) {
    return Response.json(await collect(head, pieces, newId));
  }
  const events = streamErrors(
    streamPieces(head, pieces, newId, {
      include: delivery.includeUsage,
      of: (timings) => wholeUsage(timings, resumed, textTokens),
    }),
    abort.signal,
  );
  return eventStream(events, () => abort.abort());
}

/**
 * Write a conversation down as a prompt.
 *
 * @param chat Whose template.
 * @param request Messages and tools.
 * @throws {RequestError} When the template refuses.
 */
export function renderPrompt(chat: ChatModel, request: ChatRequest): string {
  const tools = request.tools?.tools ?? [];
  const { inTemplate } = chat.callForm;
  const messages = tools.length === 0 || inTemplate
    ? request.messages
    : describeTools(request.messages, tools);
  return chat.template.render(messages, {
    tools: inTemplate ? tools : [],
    addGenerationPrompt: true,
    variables: request.templateVariables,
  });
}

async function* readPieces(
  host: ChatHost,
  answer: RunningAnswer,
  tools: ToolWish | null,
  wantsTokens: boolean,
): AsyncGenerator<Piece, void, void> {
  const reader = tools === null ? null : new CallReader(
    host.chat.callForm,
    tools.tools.map((tool) => tool.name),
  );
  const tokens: ChosenToken[] | null = wantsTokens ? [] : null;
  /** Content carries its tokens; those of calls are nobody's. */
  const withTokens = (part: CallPart): Piece =>
    tokens === null || part.kind !== "content"
      ? part
      : { ...part, tokens: tokens.splice(0) };
  for await (const step of stepsOf(answer)) {
    if (step.kind === "text") {
      tokens?.push(...step.tokens ?? []);
      const parts: readonly CallPart[] = reader?.push(step.text) ??
        (step.text === "" ? [] : [{ kind: "content", text: step.text }]);
      yield* parts.map(withTokens);
      continue;
    }
    yield* (reader?.flush() ?? []).map(withTokens);
    const called = reader?.calling === true && step.reason === "stop";
    yield {
      kind: "finish",
      reason: called ? "tool_calls" : step.reason,
      timings: step.timings,
    };
  }
}

/** A piece of a message, the way OpenAI streams it. */
function deltaOf(part: CallPart, newId: () => string): JsonObject | null {
  switch (part.kind) {
    case "content":
      return { content: part.text };
    case "begin":
      return {
        tool_calls: [{
          index: part.index,
          id: newId(),
          type: "function",
          function: { name: part.name, arguments: "" },
        }],
      };
    case "arguments":
      return {
        tool_calls: [{ index: part.index, function: { arguments: part.text } }],
      };
    case "end":
      return null;
    default: {
      const never: never = part;
      return never;
    }
  }
}

async function* streamPieces(
  head: JsonObject,
  pieces: AsyncGenerator<Piece, void, void>,
  newId: () => string,
  wanted: {
    readonly include: boolean;
    of(timings: Timings): Usage;
  },
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, void> {
  const base = { ...head, object: "chat.completion.chunk" };
  const chunk = (
    delta: JsonObject,
    reason: FinishReason | null,
    tokens?: readonly ChosenToken[],
  ) => ({
    ...base,
    choices: [{
      index: 0,
      delta,
      logprobs: chatLogprobs(tokens),
      finish_reason: reason,
    }],
  });
  yield encodeEvent(chunk({ role: "assistant", content: null }, null));
  for await (const piece of pieces) {
    if (piece.kind !== "finish") {
      const delta = deltaOf(piece, newId);
      if (delta !== null) yield encodeEvent(chunk(delta, null, piece.tokens));
      continue;
    }
    const { reason, timings } = piece;
    yield encodeEvent({ ...chunk({}, reason), timings });
    if (wanted.include) {
      const usage = wanted.of(timings);
      yield encodeEvent({ ...base, choices: [], usage, timings });
    }
    yield encodeDone();
  }
}

async function collect(
  head: JsonObject,
  pieces: AsyncGenerator<Piece, void, void>,
  newId: () => string,
): Promise<JsonObject> {
  const calls: { id: string; name: string; arguments: string }[] = [];
  let content = "";
  let tokens: ChosenToken[] | undefined;
  for await (const piece of pieces) {
    switch (piece.kind) {
      case "content":
        content += piece.text;
        if (piece.tokens !== undefined) (tokens ??= []).push(...piece.tokens);
        break;
      case "begin":
        calls.push({ id: newId(), name: piece.name, arguments: "" });
        break;
      case "arguments": {
        const call = calls[piece.index];
        if (call !== undefined) call.arguments += piece.text;
        break;
      }
      case "end":
        break;
      case "finish":
        return {
          ...head,
          object: "chat.completion",
          choices: [{
            index: 0,
            message: messageOf(content, calls),
            logprobs: chatLogprobs(tokens),
            finish_reason: piece.reason,
          }],
          usage: usageOf(piece.timings),
          timings: piece.timings,
        };
      default: {
        const never: never = piece;
        return never;
      }
    }
  }
  throw new Error("The answer has no end");
}

function messageOf(
  content: string,
  calls: readonly { id: string; name: string; arguments: string }[],
): JsonObject {
  if (calls.length === 0) return { role: "assistant", content };
  return {
    role: "assistant",
    content: content === "" ? null : content,
    tool_calls: calls.map((call) => ({
      id: call.id,
      type: "function",
      function: { name: call.name, arguments: call.arguments },
    })),
  };
}
