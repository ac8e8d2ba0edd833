import type { JsonObject } from "../../../domain/mod.ts";
import { describeTools } from "./call_form.ts";
import { CollectedChoice, stopReason } from "./chat_choice.ts";
import {
  ChoiceReader,
  type FinishReason,
  type Pieces,
  readPieces,
} from "./chat_pieces.ts";
import {
  type ChatRequest,
  parseChatRequest,
  parseDelivery,
} from "./chat_request.ts";
import { buildConstraint } from "./constraint.ts";
import type { Job } from "./generate.ts";
import type { ChatModel } from "./load_model.ts";
import { chatLogprobs } from "./logprobs.ts";
import { tokenizePrompt } from "./prompt.ts";
import { ChoiceTimings } from "./choice_timings.ts";
import { parseChoices } from "./choices.ts";
import { type ChatHost, startAnswers } from "./running_answer.ts";
import {
  parseResumed,
  refuseResumedChoices,
  resumeJob,
  wholeUsage,
} from "./resume.ts";
import { parseSampling } from "./sampling.ts";
import { encodeDone, encodeEvent, eventStream } from "./sse.ts";
import { streamErrors } from "./stream_errors.ts";
import { type Timings, type Usage, usageOf } from "./timings.ts";
import type { ChosenToken } from "./token_chances.ts";
import type { CallPart } from "./tool_calls.ts";

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
  const count = parseChoices(body);
  const resumed = parseResumed(body);
  refuseResumedChoices(resumed, count);
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
  const answer = await startAnswers(host, job, count, abort.signal);
  const pieces = readPieces(
    answer,
    new ChoiceTimings(count, host.clock),
    () => new ChoiceReader(chat, request.tools, job.sampling.topLogprobs),
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
  pieces: Pieces,
  newId: () => string,
  wanted: {
    readonly include: boolean;
    of(timings: Timings): Usage;
  },
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, void> {
  const base = { ...head, object: "chat.completion.chunk" };
  const chunk = (
    index: number,
    delta: JsonObject,
    reason: FinishReason | null,
    tokens?: readonly ChosenToken[],
    stop: string | null = null,
  ) => ({
    ...base,
    choices: [{
      index,
      delta,
      logprobs: chatLogprobs(tokens),
      finish_reason: reason,
      ...stopReason(stop),
    }],
  });
  const opened = new Set<number>();
  for await (const { choice, step: piece } of pieces) {
    if (!opened.has(choice)) {
      opened.add(choice);
      const opening = { role: "assistant", content: null };
      yield encodeEvent(chunk(choice, opening, null));
    }
    if (piece.kind !== "finish") {
      const delta = deltaOf(piece, newId);
      if (delta !== null) {
        yield encodeEvent(chunk(choice, delta, null, piece.tokens));
      }
      continue;
    }
    const { reason, stop, timings } = piece;
    const last = chunk(choice, {}, reason, undefined, stop);
    if (timings === null) {
      yield encodeEvent(last);
      continue;
    }
    yield encodeEvent({ ...last, timings });
    if (wanted.include) {
      const usage = wanted.of(timings);
      yield encodeEvent({ ...base, choices: [], usage, timings });
    }
    yield encodeDone();
  }
}

async function collect(
  head: JsonObject,
  pieces: Pieces,
  newId: () => string,
): Promise<JsonObject> {
  const all: CollectedChoice[] = [];
  for await (const { choice, step: piece } of pieces) {
    const one = all[choice] ??= new CollectedChoice(newId);
    one.add(piece);
    if (piece.kind !== "finish" || piece.timings === null) continue;
    const { timings } = piece;
    return {
      ...head,
      object: "chat.completion",
      choices: all.map((one, index) => one.asChoice(index)),
      usage: usageOf(timings),
      timings,
    };
  }
  throw new Error("The answer has no end");
}
