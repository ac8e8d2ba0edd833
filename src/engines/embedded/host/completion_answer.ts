import { z } from "zod";
import type { JsonObject } from "../../../domain/mod.ts";
import { parseDelivery, parseFormat } from "./chat_request.ts";
import { buildConstraint } from "./constraint.ts";
import { checkFields } from "./field_check.ts";
import type { Job, StopReason, Written } from "./generate.ts";
import type { ChatModel } from "./load_model.ts";
import { completionLogprobs } from "./logprobs.ts";
import { checkTokens, tokenizePrompt } from "./prompt.ts";
import { invalidField } from "./request_error.ts";
import { type RunningChoices, stepsOf } from "./choice_lanes.ts";
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

const tokenIds = z.array(z.int());
const fields = z.object({
  prompt: z.union([
    z.string(),
    tokenIds,
    z.array(z.string()),
    z.array(tokenIds),
  ]),
  echo: z.boolean().nullish(),
  suffix: z.string().nullish(),
});

/**
 * Answer a plain completion, streamed or not.
 *
 * @param host The model and its slots.
 * @param body The request.
 * @param abort Its signal stops the work; it is aborted when the client leaves a stream.
 * @returns OpenAI's answer with llama-server's timings.
 * @throws {RequestError} When the request is wrong, does not fit or can not wait.
 */
export async function answerCompletion(
  host: ChatHost,
  body: JsonObject,
  abort: AbortController,
): Promise<Response> {
  const delivery = parseDelivery(body);
  const { chat } = host;
  const count = parseChoices(body);
  const resumed = parseResumed(body);
  refuseResumedChoices(resumed, count);
  const whole: Job = {
    prompt: readPrompt(chat, body),
    sampling: parseSampling(body, host.entropy),
    constraint: buildConstraint(parseFormat(body), null),
    showSpecial: false,
  };
  const { job, textTokens } = resumeJob(chat.model, whole, resumed);
  const answer = await startAnswers(host, job, count, abort.signal);
  const times = new ChoiceTimings(count, host.clock);
  const head = {
    id: `cmpl-${host.entropy.uuid().replaceAll("-", "")}`,
    object: "text_completion",
    created: Math.floor(host.clock.now() / 1000),
    model: delivery.model ?? chat.name,
  };
  if (!delivery.stream) {
    return Response.json(await collect(head, answer, times));
  }
  const events = streamErrors(
    streamSteps(head, answer, times, {
      include: delivery.includeUsage,
      of: (timings) => wholeUsage(timings, resumed, textTokens),
    }),
    abort.signal,
  );
  return eventStream(events, () => abort.abort());
}

function readPrompt(chat: ChatModel, body: JsonObject): Job["prompt"] {
  const { prompt, echo, suffix } = checkFields(fields, body);
  if (echo === true) {
    throw invalidField(
      "echo",
      'This engine does not repeat prompts: leave "echo" out',
    );
  }
  if (suffix !== undefined && suffix !== null && suffix !== "") {
    throw invalidField(
      "suffix",
      'This engine does not fill in: leave "suffix" out',
    );
  }
  const one = onlyPrompt(prompt);
  const tokens = typeof one === "string"
    ? tokenizePrompt(chat.model, one)
    : checkTokens(one, chat.vocabularySize, "prompt");
  if (tokens.length > 0) return tokens;
  throw invalidField("prompt", 'The field "prompt" is empty');
}

function onlyPrompt(
  prompt: z.infer<typeof fields>["prompt"],
): string | readonly number[] {
  if (typeof prompt === "string") return prompt;
  const [first, ...rest] = prompt;
  if (typeof first === "string" || Array.isArray(first)) {
    if (rest.length === 0) return first;
    throw invalidField(
      "prompt",
      `This engine takes one prompt a request, not ${prompt.length}`,
    );
  }
  return prompt.filter((id) => typeof id === "number");
}

function choiceOf(
  index: number,
  text: string,
  reason: StopReason | null,
  logprobs: JsonObject | null = null,
): JsonObject {
  return { index, text, logprobs, finish_reason: reason };
}

async function* streamSteps(
  head: JsonObject,
  answer: RunningChoices<Written>,
  times: ChoiceTimings,
  wanted: {
    readonly include: boolean;
    of(timings: Timings): Usage;
  },
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, void> {
  const written = new Map<number, number>();
  for await (const { choice, step } of stepsOf(answer)) {
    times.began();
    if (step.kind === "text") {
      const { text, tokens } = step;
      if (text === "" && (tokens ?? []).length === 0) continue;
      const from = written.get(choice) ?? 0;
      const logprobs = completionLogprobs(tokens, from);
      written.set(choice, from + text.length);
      const choices = [choiceOf(choice, text, null, logprobs)];
      yield encodeEvent({ ...head, choices });
      continue;
    }
    const choices = [choiceOf(choice, "", step.reason)];
    const timings = times.ended(choice, step.timings);
    if (timings === null) {
      yield encodeEvent({ ...head, choices });
      continue;
    }
    yield encodeEvent({ ...head, choices, timings });
    if (wanted.include) {
      const usage = wanted.of(timings);
      yield encodeEvent({ ...head, choices: [], usage, timings });
    }
    yield encodeDone();
  }
}

interface Collected {
  text: string;
  tokens: ChosenToken[] | undefined;
  reason: StopReason | null;
}

async function collect(
  head: JsonObject,
  answer: RunningChoices<Written>,
  times: ChoiceTimings,
): Promise<JsonObject> {
  const all: Collected[] = [];
  for await (const { choice, step } of stepsOf(answer)) {
    times.began();
    const one = all[choice] ??= { text: "", tokens: undefined, reason: null };
    if (step.kind === "text") {
      one.text += step.text;
      if (step.tokens !== undefined) (one.tokens ??= []).push(...step.tokens);
      continue;
    }
    one.reason = step.reason;
    const timings = times.ended(choice, step.timings);
    if (timings === null) continue;
    return {
      ...head,
      choices: all.map(({ text, tokens, reason }, index) =>
        choiceOf(index, text, reason, completionLogprobs(tokens, 0))
      ),
      usage: usageOf(timings),
      timings,
    };
  }
  throw new Error("The answer has no end");
}
