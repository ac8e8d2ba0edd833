import {
  type ChoiceStep,
  type RunningChoices,
  stepsOf,
} from "./choice_lanes.ts";
import type { ChoiceTimings } from "./choice_timings.ts";
import type { StopReason, Written } from "./generate.ts";
import type { ChatModel } from "./load_model.ts";
import type { ToolWish } from "./chat_request.ts";
import type { Timings } from "./timings.ts";
import type { ChosenToken } from "./token_chances.ts";
import { type CallPart, CallReader } from "./tool_calls.ts";

/** OpenAI's reasons for the end of a chat answer. */
export type FinishReason = StopReason | "tool_calls";

/** A piece of an answer, of a message's content or of a call. */
export type Piece =
  | (CallPart & {
    /** Tokens that were written since the last piece that has some. */
    readonly tokens?: readonly ChosenToken[];
  })
  | {
    readonly kind: "finish";
    readonly reason: FinishReason;
    /** The stop string that ended it, or null. */
    readonly stop: string | null;
    /** With the last answer to end, those of all. */
    readonly timings: Timings | null;
  };
/** Pieces of all answers as they come, each answer's in order. */
export type Pieces = AsyncGenerator<ChoiceStep<Piece>, void, void>;

/**
 * Read what the answers to a chat are made of.
 *
 * @param answer The answers under way.
 * @param times Adds up what they take.
 * @param newReader Makes a reader for each answer.
 */
export async function* readPieces(
  answer: RunningChoices<Written>,
  times: ChoiceTimings,
  newReader: () => ChoiceReader,
): Pieces {
  const readers = new Map<number, ChoiceReader>();
  for await (const { choice, step } of stepsOf(answer)) {
    times.began();
    const reader = readers.get(choice) ?? newReader();
    readers.set(choice, reader);
    if (step.kind === "text") {
      for (const piece of reader.push(step)) yield { choice, step: piece };
      continue;
    }
    for (const piece of reader.flush()) yield { choice, step: piece };
    yield {
      choice,
      step: {
        kind: "finish",
        reason: reader.reasonOf(step.reason),
        stop: step.stop,
        timings: times.ended(choice, step.timings),
      },
    };
  }
}

/** Reads one answer's text as what it is made of. */
export class ChoiceReader {
  readonly #calls: CallReader | null;
  readonly #tokens: ChosenToken[] | null;

  /**
   * @param chat Whose form of calls.
   * @param tools What may be called, or null for no calls.
   * @param topLogprobs How many likeliest tokens are wanted for each one, or null for no log probabilities.
   */
  constructor(
    chat: ChatModel,
    tools: ToolWish | null,
    topLogprobs: number | null,
  ) {
    this.#tokens = topLogprobs === null ? null : [];
    this.#calls = tools === null
      ? null
      : new CallReader(chat.callForm, tools.tools.map(({ name }) => name));
  }

  /** Take a step in. */
  push(step: Extract<Written, { kind: "text" }>): readonly Piece[] {
    this.#tokens?.push(...step.tokens ?? []);
    const parts: readonly CallPart[] = this.#calls?.push(step.text) ??
      (step.text === "" ? [] : [{ kind: "content", text: step.text }]);
    return parts.map((part) => this.#withTokens(part));
  }

  /** What is left at the end. */
  flush(): readonly Piece[] {
    return (this.#calls?.flush() ?? []).map((part) => this.#withTokens(part));
  }

  /** Why the answer ended, as a chat says it. */
  reasonOf(reason: StopReason): FinishReason {
    return this.#calls?.calling === true && reason === "stop"
      ? "tool_calls"
      : reason;
  }

  /** Content carries its tokens; those of calls are nobody's. */
  #withTokens(part: CallPart): Piece {
    return this.#tokens === null || part.kind !== "content"
      ? part
      : { ...part, tokens: this.#tokens.splice(0) };
  }
}
