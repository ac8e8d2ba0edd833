import type { LlamaModel } from "node-llama-cpp";
import { z } from "zod";
import type { JsonObject } from "../../../domain/mod.ts";
import { checkFields } from "./field_check.ts";
import type { Job } from "./generate.ts";
import { invalidField } from "./request_error.ts";
import { type Timings, type Usage, usageOf } from "./timings.ts";

/** What another engine wrote of the answer before. */
export interface Resumed {
  readonly text: string;
  /** Its output tokens, as the caller counts them. */
  readonly tokens: number;
}

const fields = z.object({
  covey_resume: z.object({
    text: z.string().max(4 * 1024 * 1024),
    tokens: z.int().nonnegative(),
  }).nullish(),
});

/**
 * Read what a request goes on with: Covey's own field `covey_resume`.
 *
 * @param body The request.
 * @returns What is there of the answer, or null for a new one.
 * @throws {RequestError} Naming the field that is wrong.
 */
export function parseResumed(body: JsonObject): Resumed | null {
  return checkFields(fields, body).covey_resume ?? null;
}

/**
 * Going on with an answer has meaning for a single one.
 *
 * @param resumed What is there of the answer, or null for nothing.
 * @param count How many answers are wanted.
 * @throws {RequestError} When both are said.
 */
export function refuseResumedChoices(
  resumed: Resumed | null,
  count: number,
): void {
  if (resumed === null || count === 1) return;
  throw invalidField(
    "n",
    `An answer can be gone on with alone: "n" must be 1 beside "covey_resume", not ${count}`,
  );
}

/** A job that goes on with an answer, and the tokens that its text so far takes. */
export interface ResumedJob {
  readonly job: Job;
  /** Tokens of the text so far in this model's words. */
  readonly textTokens: number;
}

/**
 * Let a job go on where another engine stopped: the text so far stands behind
 * the prompt, and counts against the bound.
 *
 * @param model Whose vocabulary.
 * @param job The whole job.
 * @param resumed What is there of the answer, or null for nothing.
 */
export function resumeJob(
  model: LlamaModel,
  job: Job,
  resumed: Resumed | null,
): ResumedJob {
  if (resumed === null) return { job, textTokens: 0 };
  const text = model.tokenize(resumed.text, false, "trimLeadingSpace");
  const { maxTokens } = job.sampling;
  return {
    job: {
      ...job,
      prompt: [...job.prompt, ...text],
      sampling: {
        ...job.sampling,
        maxTokens: maxTokens === null
          ? null
          : Math.max(0, maxTokens - resumed.tokens),
      },
    },
    textTokens: text.length,
  };
}

/**
 * The usage of the whole answer, of which this engine may have written the end
 * alone.
 *
 * @param timings Of this engine's part.
 * @param resumed What was there before, or null for nothing.
 * @param textTokens What `resumeJob` counted.
 */
export function wholeUsage(
  timings: Timings,
  resumed: Resumed | null,
  textTokens: number,
): Usage {
  const usage = usageOf(timings);
  if (resumed === null) return usage;
  const promptTokens = usage.prompt_tokens - textTokens;
  const outputTokens = resumed.tokens + usage.completion_tokens;
  return {
    ...usage,
    prompt_tokens: promptTokens,
    completion_tokens: outputTokens,
    total_tokens: promptTokens + outputTokens,
  };
}
