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
import type { SlotLease, SlotPool } from "./slot_pool.ts";

/** What answers of a chat model are made with. */
export interface ChatHost {
  readonly chat: ChatModel;
  readonly pool: SlotPool<LlamaContextSequence>;
  /** Work of the busy slots, by slot id. */
  readonly progress: Map<number, SlotProgress>;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

/** An answer of which the first step is there. */
export interface RunningAnswer {
  readonly first: Written;
  /** What follows; returning it frees the slot. */
  readonly rest: AsyncGenerator<Written, void, void>;
}

/**
 * Wait for a slot and for the first token on it.
 *
 * @param host The model and its slots.
 * @param job What to write.
 * @param signal Aborting it leaves the queue or stops the work.
 * @throws {RequestError} When the job does not fit the model, or the queue is full.
 */
export async function startAnswer(
  host: ChatHost,
  job: Job,
  signal: AbortSignal,
): Promise<RunningAnswer> {
  const prepared = await prepareJob(host.chat, job);
  const lease = await host.pool.acquire(
    (sequence) => sharedPrefix(sequence, job.prompt),
    signal,
  );
  const rest = runLeased(host, lease, prepared, signal);
  const first = await rest.next();
  if (first.done) throw new Error("The answer ended before it began");
  // A client that leaves before anything reads the rest must free the slot too.
  signal.addEventListener("abort", () => void rest.return(), { once: true });
  return { first: first.value, rest };
}

async function* runLeased(
  host: ChatHost,
  lease: SlotLease<LlamaContextSequence>,
  job: PreparedJob,
  signal: AbortSignal,
): AsyncGenerator<Written, void, void> {
  using held = lease;
  const { id, sequence } = held.slot;
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

/** All steps of an answer, the first one included. */
export async function* stepsOf(
  answer: RunningAnswer,
): AsyncGenerator<Written, void, void> {
  try {
    yield answer.first;
    yield* answer.rest;
  } finally {
    await answer.rest.return();
  }
}
