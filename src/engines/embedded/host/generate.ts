import type {
  LlamaContextSequence,
  LlamaGrammarEvaluationState,
  SequenceEvaluateOptions,
  Token,
} from "node-llama-cpp";
import type { Clock } from "../../../platform/mod.ts";
import type { Constraint } from "./constraint.ts";
import { createGrammarState, GrammarTrigger } from "./grammar_state.ts";
import type { ChatModel } from "./load_model.ts";
import type { Sampling } from "./sampling.ts";
import { checkContext } from "./prompt.ts";
import { TextGate } from "./text_gate.ts";
import { measureTimings, type Timings } from "./timings.ts";
import { biasOf } from "./token_bias.ts";
import {
  type ChosenToken,
  chosenToken,
  HeldTokens,
  needsAll,
  textOfToken,
} from "./token_chances.ts";
import { TokenText } from "./token_text.ts";

/** What to write. */
export interface Job {
  readonly prompt: readonly Token[];
  readonly sampling: Sampling;
  readonly constraint: Constraint;
  /** Whether texts of special tokens are part of the answer (tool calls are made of them). */
  readonly showSpecial: boolean;
}

/** What of a job is checked and made before it gets a slot. */
export interface PreparedJob extends Job {
  /** State of the grammar that holds from the first token on. */
  readonly grammar: LlamaGrammarEvaluationState | undefined;
  readonly bias: Pick<SequenceEvaluateOptions, "tokenBias">;
}

/**
 * Check a job against the model and compile what it needs.
 *
 * @param chat The model.
 * @param job What to write.
 * @throws {RequestError} When it does not fit the context, its grammar can not be read, or a biased token does not exist.
 */
export async function prepareJob(
  chat: ChatModel,
  job: Job,
): Promise<PreparedJob> {
  checkContext(job.prompt.length, chat.contextLength, true);
  const { constraint, sampling } = job;
  const hasGrammar = constraint.kind === "grammar";
  return {
    ...job,
    bias: biasOf(chat, sampling, hasGrammar),
    grammar: hasGrammar
      ? await createGrammarState(chat, constraint.text)
      : undefined,
  };
}

/** How an answer ended. */
export type StopReason = "stop" | "length";

/** A step of an answer. */
export type Written =
  | {
    readonly kind: "text";
    readonly text: string;
    /** The tokens that it is made of, where they were asked for. */
    readonly tokens?: readonly ChosenToken[];
  }
  | {
    readonly kind: "end";
    readonly reason: StopReason;
    /** The stop string that ended it, or null. */
    readonly stop: string | null;
    readonly timings: Timings;
  };

/** What others may see of a slot at work. */
export interface SlotProgress {
  promptTokens: number;
  cachedTokens: number;
  decodedTokens: number;
}

/** Shortest and longest stretch of a prompt that is evaluated without a look at the signal. */
const MIN_PREFILL = 8;
const PREFILL_TARGET_MS = 300;

/**
 * Write an answer on one sequence: evaluate what of the prompt is new there,
 * then sample token by token. Ends early when the signal aborts: within one
 * token, or within one stretch of the prompt.
 *
 * @param chat The model.
 * @param sequence The slot's sequence, used by nobody else meanwhile.
 * @param job What to write.
 * @param progress Kept up to date.
 * @param clock Measures the timings.
 * @param signal Aborting it makes the generator throw its reason.
 */
export async function* generate(
  chat: ChatModel,
  sequence: LlamaContextSequence,
  job: PreparedJob,
  progress: SlotProgress,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<Written, void, void> {
  const { prompt, sampling, constraint } = job;
  let { grammar } = job;
  const startedAt = clock.monotonic();
  const trigger = new GrammarTrigger(constraint);
  const cached = await reusePrefix(sequence, prompt);
  progress.cachedTokens = cached;
  const last = await prefill(
    chat,
    sequence,
    prompt.slice(sequence.nextTokenIndex),
    clock,
    signal,
  );
  const written: Token[] = [];
  const text = new TokenText(
    (tokens, before) =>
      chat.model.detokenize(
        tokens as readonly Token[],
        job.showSpecial,
        before as readonly Token[],
      ),
    prompt,
  );
  const gate = new TextGate(sampling.stop);
  const room = chat.contextLength - prompt.length;
  const most = Math.min(room, sampling.maxTokens ?? room);
  let firstAt: number | undefined;
  let reason: StopReason = "length";
  if (most < 1) {
    yield end(gate, null);
    return;
  }
  const count = sampling.topLogprobs;
  const held = count === null ? null : new HeldTokens();
  const all = count !== null && needsAll(sampling.temperature, count);
  const tokens = sequence.evaluateWithMetadata(last, {
    probabilities: all,
    confidence: count !== null && !all,
  }, {
    ...samplerOptions(chat, sampling, prompt, written),
    ...job.bias,
    grammarEvaluationState: () => grammar,
    yieldEogToken: true,
  });
  for await (const sampled of tokens) {
    const { token } = sampled;
    firstAt ??= clock.monotonic();
    written.push(token);
    progress.decodedTokens = written.length;
    signal.throwIfAborted();
    if (chat.model.isEogToken(token)) {
      reason = "stop";
      break;
    }
    const piece = text.push(token);
    held?.push(
      chosenToken(
        sampled,
        sampling.temperature,
        count ?? 0,
        (one) => textOfToken(chat.model, one, before()),
      ),
      piece,
    );
    const found = trigger.push(piece);
    if (found !== null) grammar = await createGrammarState(chat, found);
    const passed = gate.push(piece);
    // One step a token, so that a reader sees each at once.
    yield textStep(passed.text, held);
    if (passed.stop !== null) {
      reason = "stop";
      yield end(gate, passed.stop);
      return;
    }
    if (written.length >= most) break;
  }
  const passed = gate.push(text.flush());
  if (passed.stop !== null) reason = "stop";
  const rest = passed.stop === null ? passed.text + gate.flush() : passed.text;
  if (rest !== "") yield textStep(rest, held);
  yield end(gate, passed.stop);

  /** What stands before the newest token. */
  function before(): readonly Token[] {
    return written.length > 1 ? written.slice(0, -1) : prompt;
  }

  function end(closed: TextGate, stop: string | null): Written {
    closed.flush();
    return {
      kind: "end",
      reason,
      stop,
      timings: measureTimings({
        cachedTokens: cached,
        promptTokens: prompt.length,
        outputTokens: written.length,
        startedAt,
        firstAt: firstAt ?? clock.monotonic(),
        endedAt: clock.monotonic(),
      }),
    };
  }
}

function textStep(text: string, held: HeldTokens | null): Written {
  return held === null
    ? { kind: "text", text }
    : { kind: "text", text, tokens: held.take(text) };
}

/**
 * Cut a sequence back to the head it shares with the prompt.
 *
 * @returns Tokens that need no evaluation.
 */
async function reusePrefix(
  sequence: LlamaContextSequence,
  prompt: readonly Token[],
): Promise<number> {
  // The last token is always evaluated: its logits are what is sampled from.
  const head = prompt.slice(0, -1);
  const shared = sharedPrefix(sequence, head);
  // Models without a full cache evaluate some of it again.
  const again = shared < sequence.nextTokenIndex && shared > 0
    ? sequence.getRestoreToPrefixIndexEvaluationSize(shared - 1)
    : 0;
  await sequence.adaptStateToTokens(head, false);
  return Math.max(0, Math.min(shared, sequence.nextTokenIndex) - again);
}

/**
 * Tokens at the head of a prompt that a sequence holds evaluated.
 *
 * @param sequence The slot's sequence.
 * @param prompt The prompt.
 */
export function sharedPrefix(
  sequence: LlamaContextSequence,
  prompt: readonly Token[],
): number {
  return sequence.compareContextTokens([...prompt]).firstDifferentIndex;
}

/**
 * Evaluate a prompt but for its last stretch.
 *
 * @returns The stretch that is left, at least one token.
 */
async function prefill(
  chat: ChatModel,
  sequence: LlamaContextSequence,
  prompt: readonly Token[],
  clock: Clock,
  signal: AbortSignal,
): Promise<Token[]> {
  let rest = prompt;
  let stretch = MIN_PREFILL;
  while (rest.length > stretch) {
    signal.throwIfAborted();
    const startedAt = clock.monotonic();
    await sequence.evaluateWithoutGeneratingNewTokens(rest.slice(0, stretch));
    rest = rest.slice(stretch);
    const tookMs = Math.max(1, clock.monotonic() - startedAt);
    stretch = Math.max(
      MIN_PREFILL,
      Math.min(
        chat.batchSize,
        Math.floor(stretch * PREFILL_TARGET_MS / tookMs),
      ),
    );
  }
  signal.throwIfAborted();
  return [...rest];
}

function samplerOptions(
  chat: ChatModel,
  sampling: Sampling,
  prompt: readonly Token[],
  written: readonly Token[],
): SequenceEvaluateOptions {
  const { repeatPenalty, presencePenalty, frequencyPenalty } = sampling;
  const lastTokens = Math.min(sampling.repeatLastTokens, chat.contextLength);
  const isNeutral = lastTokens === 0 ||
    (repeatPenalty === 1 && presencePenalty === 0 && frequencyPenalty === 0);
  return {
    temperature: sampling.temperature,
    topK: sampling.topK,
    topP: sampling.topP,
    minP: sampling.minP,
    seed: sampling.seed,
    ...(isNeutral ? {} : {
      repeatPenalty: {
        punishTokens: () => lastOf(prompt, written, lastTokens),
        maxPunishTokens: lastTokens,
        penalty: repeatPenalty,
        presencePenalty,
        frequencyPenalty,
      },
    }),
  };
}

function lastOf(
  prompt: readonly Token[],
  written: readonly Token[],
  count: number,
): Token[] {
  const recent = written.slice(-count);
  const missing = count - recent.length;
  return missing === 0 ? recent : [...prompt.slice(-missing), ...recent];
}
