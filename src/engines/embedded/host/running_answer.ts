import type { LlamaContextSequence } from "node-llama-cpp";
import type { Clock, Entropy } from "../../../platform/mod.ts";
import {
  generate,
  type Job,
  type PreparedJob,
  prepareJob,
  sharedPrefix,
  type SlotProgress,
  type Written,
} from "./generate.ts";
import type { ChatModel } from "./load_model.ts";
import { samplingOf } from "./choices.ts";
import { type RunningChoices, startChoices } from "./choice_lanes.ts";
import type { Slot, SlotPool } from "./slot_pool.ts";

/** What answers of a chat model are made with. */
export interface ChatHost {
  readonly chat: ChatModel;
  readonly pool: SlotPool<LlamaContextSequence>;
  /** Work of the busy slots, by slot id. */
  readonly progress: Map<number, SlotProgress>;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

/**
 * Wait for a slot and for the first token on it.
 *
 * @param host The model and its slots.
 * @param job What to write.
 * @param count How many answers, each with a seed of its own.
 * @param signal Aborting it leaves the queue or stops the work.
 * @throws {RequestError} When the job does not fit the model, or the queue is full.
 */
export async function startAnswers(
  host: ChatHost,
  job: Job,
  count: number,
  signal: AbortSignal,
): Promise<RunningChoices<Written>> {
  // What is wrong with a job is told before it waits.
  const prepared = await prepareJob(host.chat, job);
  return await startChoices({
    pool: host.pool,
    count,
    shared: (sequence) => sharedPrefix(sequence, job.prompt),
    async *write(choice, slot, signal) {
      const own = choice === 0 ? prepared : await prepareJob(host.chat, {
        ...job,
        sampling: samplingOf(job.sampling, choice),
      });
      yield* writeOn(host, slot, own, signal);
    },
  }, signal);
}

async function* writeOn(
  host: ChatHost,
  { id, sequence }: Slot<LlamaContextSequence>,
  job: PreparedJob,
  signal: AbortSignal,
): AsyncGenerator<Written, void, void> {
  const progress = {
    promptTokens: job.prompt.length,
    cachedTokens: 0,
    decodedTokens: 0,
  };
  host.progress.set(id, progress);
  try {
    yield* generate(host.chat, sequence, job, progress, host.clock, signal);
  } catch (problem) {
    // What was evaluated up to a failure is not known for sure.
    if (!signal.aborted) await sequence.clearHistory();
    throw problem;
  } finally {
    host.progress.delete(id);
  }
}
