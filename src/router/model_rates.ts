/**
 * What a node learns of its speed, of each model that it serves: levels for
 * prefill, for the time per output token at each concurrency and for loads, the
 * time of an answer beside these, and for prefill and decode a shape over powers
 * of two of the context's length. The level follows the machine, the shape the
 * model, so that a long conversation is not taken for a slow machine. Peers get
 * all of it with the offers.
 *
 * @module
 */
import type { Offer, Rates } from "../domain/mod.ts";
import { decodes, serviceMs, tpotAt, type Work } from "./estimate.ts";
import { decodeLength, LengthShape, prefillLength } from "./length_shape.ts";
import { type Level, observeLevel, startLevel } from "./level.ts";
import { OutputLengths } from "./output_length.ts";
import {
  NO_SLOWDOWN,
  observeSlowdown,
  type Slowdown,
  slowdownAt,
} from "./slowdown.ts";

/** What a completed answer showed of its engine's speed. Absent parts are null. */
export interface AnswerObservation {
  readonly work: Work;
  /** Sequences that ran side by side, on average. */
  readonly concurrency: number;
  /** Milliseconds the engine spent on the uncached part of the prompt. */
  readonly prefillMs: number | null;
  /** Share of the prompt that was really processed, from 0 to 1. */
  readonly uncachedShare: number;
  readonly decodeMs: number | null;
  /** Milliseconds that went neither into prefill nor into decode; absent or null where nobody can tell. */
  readonly overheadMs?: number | null;
  readonly outputTokens: number;
  /** Whether a limit ended the answer. */
  readonly cut: boolean;
  /** What a load took that this answer waited for, or null where there was none. */
  readonly loadTimeMs: number | null;
  /** From the slot to the end of the answer. */
  readonly serviceMs: number;
  /** Chunks with output that the answer had; absent where nobody counted. */
  readonly contentEvents?: number;
  /** Whether it was looked at while it ran, so that a slowdown in it is known. */
  readonly sampled?: boolean;
}

/** What a running answer showed of its engine's speed. */
export interface RunningObservation {
  /** Mean time per chunk with output, at the machine's usual speed. */
  readonly perEventMs: number;
  readonly concurrency: number;
  /** Tokens that are there already, prompt and answer; absent where nobody counted. */
  readonly contextTokens?: number;
}

/** Fewer tokens than this show the fixed cost of a step, not its speed. */
const LEAST_PROMPT_TOKENS = 4;
const LEAST_OUTPUT_TOKENS = 4;
const SLOWEST_ERROR_RATE = 0.1;
/** One answer that was far off counts as wrong by this share. */
const MOST_ERROR = 1;
const MAX_CONCURRENCY = 256;
/** Observations that make a level one to compare with. */
const LEAST_KNOWN = 3;
const LEAST_EVENTS = 4;
/** An overhead beyond this is a wait for something, and no property of the model. */
const MOST_OVERHEAD_MS = 500;
/** The part of a slowdown that answers do not teach: what lasts becomes the usual speed in the end. */
const UNLEARNED = 0.9;

/**
 * Speed of one model on this node, learned from completed answers, and from
 * those that run how much slower than that it is now. What was not observed yet
 * comes from the engine's own priors.
 *
 * The prefill rate is in tokens as requests count them, so that an estimate
 * made from a rough count comes out right all the same. Prefill and TPOT are
 * levels with a shape each: the level follows the machine's speed, the shape
 * how that depends on the length of the context.
 */
export class ModelRates {
  #prefill: Level = startLevel(1);
  #load: Level = startLevel(1);
  #overhead: Level = startLevel(1);
  readonly #prefillShape = new LengthShape();
  readonly #decodeShape = new LengthShape();
  /** Index 0 is one sequence alone. */
  readonly #tpot: Level[] = [];
  #merged: {
    readonly prior: readonly number[];
    readonly tpotMs: readonly number[];
  } | null = null;
  #slowdown: Slowdown = NO_SLOWDOWN;
  /** A chunk is a token at most engines, not at all. */
  #tokensPerEvent: Level = startLevel(1);
  #completions = 0;
  #errors = 0;
  #typicalError = 0;
  readonly #lengths = new OutputLengths();
  #expectedOutputTokens: number | null = null;

  /**
   * The rates to publish.
   *
   * @param prior What the engine itself says.
   * @param nowMs Monotonic time, by which a slowdown has faded; if it is left out there is none.
   * @returns Learned levels where there are any, priors elsewhere.
   */
  over(prior: Rates, nowMs?: number): Rates {
    const slowdown = this.slowdown(nowMs);
    const tpotMs = this.#tpotOver(prior.tpotMs);
    const prefill = this.#prefill.observations > 0
      ? this.#prefill.value
      : prior.prefillTokensPerSecond;
    return {
      prefillTokensPerSecond: prefill / slowdown,
      tpotMs: slowdown === 1 ? tpotMs : tpotMs.map((ms) => ms * slowdown),
      loadTimeMs: this.#load.observations > 0
        ? this.#load.value
        : prior.loadTimeMs,
      observations: this.#completions,
      typicalError: this.#errors > 0 ? this.#typicalError : prior.typicalError,
      expectedOutputTokens: this.#outputTokensOver(prior),
      ...this.#learnedShape(),
    };
  }

  /**
   * Of the rates to publish, the time per output token at one concurrency, for
   * the usual length. A report asks for every answer that runs, and an engine may have a
   * thousand slots whose times need not be made for that.
   *
   * @param prior What the engine itself says.
   * @param concurrency Sequences side by side, from 1.
   * @param nowMs Monotonic time.
   */
  tpotAt(prior: Rates, concurrency: number, nowMs: number): number {
    const tpotMs = this.#tpotOver(prior.tpotMs);
    return tpotAt({ tpotMs }, concurrency) * this.slowdown(nowMs);
  }

  /** How the time per output token depends on the length of the context, by powers of two; undefined before the first answer. */
  get decodeFactors(): readonly number[] | undefined {
    return this.#completions === 0 ? undefined : this.#decodeShape.factors;
  }

  /**
   * Learn from an answer.
   *
   * @param seen What it showed.
   * @param offer The model as it was published when the answer got its slot, for the prediction's error.
   * @param nowMs Monotonic time; if it is left out no slowdown is reckoned with.
   */
  observe(seen: AnswerObservation, offer: Offer, nowMs?: number): void {
    // The first prediction rested on a prior, whose error says nothing of later ones.
    if (this.#completions > 0) this.#observeError(seen, offer);
    this.#completions++;
    if (seen.loadTimeMs !== null) {
      this.#load = observeLevel(this.#load, seen.loadTimeMs);
    }
    this.#observeEvents(seen);
    if (nowMs !== undefined && seen.sampled !== true) {
      const relative = this.relativeSpeed(seen);
      if (relative !== null) this.#observeSlowdown(1 / relative, nowMs);
    }
    const usual = this.slowdown(nowMs) ** UNLEARNED;
    const { overheadMs = null } = seen;
    if (overheadMs !== null && overheadMs <= MOST_OVERHEAD_MS) {
      this.#overhead = observeLevel(this.#overhead, overheadMs);
    }
    this.#observePrefill(seen, usual);
    if (!decodes(seen.work.capability)) return;
    this.#lengths.observe(seen.outputTokens, seen.cut);
    this.#expectedOutputTokens = null;
    if (seen.decodeMs === null || seen.outputTokens < LEAST_OUTPUT_TOKENS) {
      return;
    }
    this.#observeTpot(
      seen.concurrency,
      seen.decodeMs / seen.outputTokens / usual,
      decodeLength(seen.work.promptTokens, seen.outputTokens),
    );
  }

  /**
   * Learn from an answer that is being written: how much slower it is than
   * known, or, where little is known, the speed itself.
   *
   * @param seen What it showed since it was last looked at.
   * @param nowMs Monotonic time.
   */
  observeRunning(seen: RunningObservation, nowMs: number): void {
    const { contextTokens } = seen;
    const tpotMs = seen.perEventMs / this.tokensPerEvent /
      (contextTokens === undefined ? 1 : this.#decodeShape.at(contextTokens));
    const at = levelOf(seen.concurrency);
    const level = this.#tpot[at];
    if (level !== undefined && level.observations >= LEAST_KNOWN) {
      this.#observeSlowdown(tpotMs / level.value, nowMs);
      return;
    }
    this.#learnTpot(at, observeLevel(level ?? startLevel(1), tpotMs));
  }

  /** How much slower it is than known: 1 for not at all, 2 for half as fast. */
  slowdown(nowMs?: number): number {
    return nowMs === undefined ? 1 : slowdownAt(this.#slowdown, nowMs);
  }

  /** Whether the time per output token was ever seen. */
  get knowsDecode(): boolean {
    return this.#tpot.some((level) => level !== undefined);
  }

  /** Output tokens that a chunk with output has, on average. */
  get tokensPerEvent(): number {
    return this.#tokensPerEvent.value;
  }

  #observePrefill(seen: AnswerObservation, usual: number): void {
    const { work: { promptTokens }, uncachedShare, prefillMs } = seen;
    const tokens = promptTokens * uncachedShare;
    if (prefillMs === null || tokens < LEAST_PROMPT_TOKENS) return;
    const length = prefillLength(promptTokens, promptTokens - tokens);
    const shape = this.#prefillShape;
    const rate = tokens / prefillMs * 1000 * usual * shape.at(length);
    const before = this.#prefill;
    this.#prefill = observeLevel(before, rate);
    if (before.observations > 0) shape.observe(length, before.value / rate);
  }

  #observeTpot(concurrency: number, tpotMs: number, length: number): void {
    const at = levelOf(concurrency);
    const shape = this.#decodeShape;
    const before = this.#tpot[at] ?? startLevel(1);
    const level = tpotMs / shape.at(length);
    this.#learnTpot(at, observeLevel(before, level));
    if (before.observations > 0) shape.observe(length, level / before.value);
  }

  #learnedShape(): Pick<Rates, "overheadMs" | "byLength"> {
    if (this.#completions === 0) return {};
    return {
      ...(this.#overhead.observations > 0
        ? { overheadMs: this.#overhead.value }
        : {}),
      byLength: {
        prefill: this.#prefillShape.factors,
        decode: this.#decodeShape.factors,
      },
    };
  }

  #observeSlowdown(ratio: number, nowMs: number): void {
    this.#slowdown = observeSlowdown(this.#slowdown, ratio, nowMs);
  }

  #observeEvents({ contentEvents = 0, outputTokens }: AnswerObservation): void {
    if (contentEvents < LEAST_EVENTS) return;
    this.#tokensPerEvent = observeLevel(
      this.#tokensPerEvent,
      outputTokens / contentEvents,
    );
  }

  /**
   * Compare an answer's speed with the one learned.
   *
   * @param seen What it showed.
   * @returns 0.5 for half as fast; null where too little is known.
   */
  relativeSpeed(seen: AnswerObservation): number | null {
    if (!decodes(seen.work.capability)) {
      const tokens = seen.work.promptTokens * seen.uncachedShare;
      const known = this.#prefill.observations >= LEAST_KNOWN &&
        tokens >= LEAST_PROMPT_TOKENS && seen.prefillMs !== null;
      if (!known) return null;
      const length = prefillLength(
        seen.work.promptTokens,
        seen.work.promptTokens - tokens,
      );
      return tokens / seen.prefillMs * 1000 * this.#prefillShape.at(length) /
        this.#prefill.value;
    }
    const level = this.#tpot[levelOf(seen.concurrency)];
    const known = level !== undefined && level.observations >= LEAST_KNOWN &&
      seen.decodeMs !== null && seen.outputTokens >= LEAST_OUTPUT_TOKENS;
    if (!known) return null;
    const length = decodeLength(seen.work.promptTokens, seen.outputTokens);
    return level.value * this.#decodeShape.at(length) * seen.outputTokens /
      seen.decodeMs;
  }

  /** Views are frequent and completions are not, so this is kept until the next. */
  #outputTokensOver(prior: Rates): number {
    if (this.#lengths.observations === 0) return prior.expectedOutputTokens;
    this.#expectedOutputTokens ??=
      this.#lengths.expected(null, prior.expectedOutputTokens).meanTokens;
    return this.#expectedOutputTokens;
  }

  /** Views are frequent and what changes this is not, so it is kept for as long as it holds. */
  #tpotOver(prior: readonly number[]): readonly number[] {
    if (this.#merged?.prior !== prior) {
      this.#merged = { prior, tpotMs: mergedTpot(this.#tpot, prior) };
    }
    return this.#merged.tpotMs;
  }

  #learnTpot(at: number, level: Level): void {
    if (level.observations === 0) return;
    this.#tpot[at] = level;
    this.#merged = null;
  }

  #observeError(seen: AnswerObservation, offer: Offer): void {
    const work: Work = {
      ...seen.work,
      promptTokens: seen.work.promptTokens * seen.uncachedShare,
      outputTokens: seen.outputTokens,
    };
    const predictedMs = serviceMs(work, offer, Math.round(seen.concurrency));
    if (!(seen.serviceMs > 0) || !Number.isFinite(predictedMs)) return;
    const error = Math.abs(predictedMs - seen.serviceMs) / seen.serviceMs;
    this.#errors++;
    const rate = Math.max(1 / this.#errors, SLOWEST_ERROR_RATE);
    this.#typicalError += rate *
      (Math.min(error, MOST_ERROR) - this.#typicalError);
  }
}

function levelOf(concurrency: number): number {
  return Math.min(Math.max(Math.round(concurrency), 1), MAX_CONCURRENCY) - 1;
}

function lastOr(values: readonly number[], at: number): number {
  return values[at] ?? values.at(-1) ?? 0;
}

/**
 * Unobserved concurrencies keep the prior's shape, scaled as the nearest
 * observed one is. One walk: an engine may have a thousand slots.
 */
function mergedTpot(
  levels: readonly (Level | undefined)[],
  prior: readonly number[],
): readonly number[] {
  const known = levels.flatMap((level, at) =>
    level === undefined
      ? []
      : { at, value: level.value, scale: level.value / lastOr(prior, at) }
  );
  const merged: number[] = [];
  let next = 0;
  for (let at = 0; at < Math.max(prior.length, levels.length); at++) {
    if (known[next]?.at === at) next++;
    const below = known[next - 1];
    const above = known[next];
    const isBelowNearer = below !== undefined &&
      (above === undefined || at - below.at <= above.at - at);
    const nearest = isBelowNearer ? below : above;
    merged.push(
      nearest?.at === at
        ? nearest.value
        : lastOr(prior, at) * (nearest?.scale ?? 1),
    );
  }
  return merged;
}
