import {
  ageLoadState,
  type Availability,
  type Capability,
  type EngineView,
  type Hop,
  type LoadState,
  type Offer,
  type Rates,
  type Terms,
} from "../domain/mod.ts";
import { type ChoicePlan, planChoices } from "./choices.ts";
import { decodeLength, lengthFactor, prefillLength } from "./length_shape.ts";
import { QueuePlay } from "./queue_wait.ts";

/** The part of a request that costs time. */
export interface Work {
  readonly capability: Capability;
  readonly promptTokens: number;
  /** Output tokens to reckon with; without meaning where the capability decodes nothing. */
  readonly outputTokens: number;
  /** Output tokens that four of five such answers stay within; absent where nobody reckoned it. */
  readonly p80OutputTokens?: number;
  /** Prompt tokens that need no prefill where the model is warm; absent for none. */
  readonly cachedTokens?: number;
  /** Answers that are wanted at once, each of so many tokens; absent for one. */
  readonly choices?: number;
  /** Whether the model, which is loaded, has to be loaded anew for more context; absent for no. */
  readonly reloads?: boolean;
}

/** What a completion time is predicted from. */
export interface EstimateInput {
  readonly work: Work;
  readonly offer: Offer;
  readonly availability: Availability;
  readonly hop: Hop;
  /** Expected work of this entry's own dispatches to the device that its report does not hold. */
  readonly unseenMs: readonly number[];
  /** Model of the last of those dispatches, which is loaded when they are over; absent for none. */
  readonly unseenModel?: string | null;
  /** What pushing warm models out of memory costs; absent for nothing. */
  readonly evictionMs?: number;
  /** What this entry found the member's predictions to be off by; absent for 1. */
  readonly correction?: number;
}

/** The same as a placement has it: the offer as its engine stated it, with what has passed since. */
export interface Reckoned {
  readonly work: Work;
  readonly stated: Offer;
  readonly view: Pick<EngineView, "availability" | "hop" | "stated">;
  readonly unseenMs: readonly number[];
  readonly unseenModel: string | null;
  /** Whether an own dispatch of another model, unseen as well, pushes this one out of memory. */
  readonly isPushedOut: boolean;
  readonly evictionMs: number;
  readonly correction: number;
}

/** A predicted completion time with everything it consists of. */
export interface Estimate {
  readonly terms: Terms;
  /** What the sum is multiplied by. */
  readonly factor: number;
  /** The times' sum times the factor: what is published. Eviction is a price, paid by others. */
  readonly estimateMs: number;
  /** What four of five such requests are predicted to stay within, by the length of their answers. */
  readonly p80Ms: number;
  /** The estimate with the queue weighted and the eviction: what placement minimises. */
  readonly placementMs: number;
  /** Predicted time to the first output token. */
  readonly ttftMs: number;
  /** Predicted time per output token. */
  readonly tpotMs: number;
  /** Typical error of this prediction in milliseconds. */
  readonly errorMs: number;
}

/**
 * Soonest for one request is not best for all: a second in a queue also delays
 * whoever comes next (routing study, B5).
 */
const QUEUE_WEIGHT = 1.5;
const DEGRADED_FACTOR = 2;
/** One answer to a request. */
const ALONE: ChoicePlan = { lanes: 1, rounds: 1 };

/**
 * Predict when one candidate would have finished a request: the terms of
 * design.md 6. Pure.
 *
 * @param input Request, offer, and the way to it.
 * @returns The estimate.
 */
export function estimate(input: EstimateInput): Estimate {
  const { availability, hop } = input;
  return new Reckoning().estimate({
    work: input.work,
    stated: input.offer,
    view: { availability, hop },
    unseenMs: input.unseenMs,
    unseenModel: input.unseenModel ?? null,
    isPushedOut: false,
    evictionMs: input.evictionMs ?? 0,
    correction: input.correction ?? 1,
  });
}

/**
 * Reckons predictions one after the other and leaves nothing behind but
 * numbers: of a thousand candidates a placement needs the terms of a few.
 */
export class Reckoning {
  /** Wait until a slot is free. */
  waitMs = 0;
  /** Typical error of the prediction. */
  errorMs = 0;
  /** What placement minimises. */
  placementMs = 0;
  readonly #play = new QueuePlay();
  #tpotMs = 0;
  #loadMs = 0;
  #prefillMs = 0;
  #decodeMs = 0;
  #serviceMs = 0;
  #factor = 1;

  /** Predict for one candidate. */
  reckon(one: Reckoned): void {
    const { stated: offer, work, view: { availability, hop, stated } } = one;
    const { rates } = offer;
    const play = this.#play;
    play.play(
      stated?.queue ?? offer.queue,
      stated?.queueAgeMs ?? 0,
      one.unseenMs,
    );
    // A model is loaded anew once nobody uses it.
    const reloads = work.reloads === true;
    const waitMs = reloads ? play.drainedMs() : play.waitMs;
    const state = ageLoadState(offer.state, stated?.stateAgeMs ?? 0);
    this.waitMs = waitMs;
    const { slots } = stated?.queue ?? offer.queue;
    const company = reloads ? 1 : play.concurrency;
    const { lanes, rounds } = work.choices === undefined
      ? ALONE
      : planChoices(work.choices, slots, company);
    this.#tpotMs = tpotOf(work, rates, company + lanes - 1);
    this.#loadMs = isLoadedThen(one)
      ? loadMsOf(lastOf(state, rates), rates, waitMs) +
        (reloads ? rates.loadTimeMs : 0)
      : rates.loadTimeMs;
    this.#prefillMs = prefillMsOf(offer, work);
    this.#decodeMs = work.outputTokens * this.#tpotMs * rounds;
    this.#factor = one.correction *
      (availability.kind === "degraded" ? DEGRADED_FACTOR : 1);
    this.#serviceMs = this.#loadMs + this.#prefillMs + this.#decodeMs +
      hop.medianMs;
    this.errorMs = rates.typicalError * this.#serviceMs * this.#factor;
    this.placementMs = (waitMs * QUEUE_WEIGHT + this.#serviceMs +
      swapMs(one.evictionMs, this.#loadMs)) * this.#factor;
  }

  /** Predict for one candidate, with all terms. */
  estimate(one: Reckoned): Estimate {
    this.reckon(one);
    const { evictionMs, work, view: { hop } } = one;
    const { waitMs, placementMs, errorMs } = this;
    const factor = this.#factor;
    const serviceMs = this.#serviceMs;
    const tpotMs = this.#tpotMs;
    const estimateMs = (waitMs + serviceMs) * factor;
    const { p80OutputTokens = work.outputTokens } = work;
    return {
      terms: {
        queueMs: waitMs,
        loadMs: this.#loadMs,
        evictionMs,
        prefillMs: this.#prefillMs,
        decodeMs: this.#decodeMs,
        hopMs: hop.medianMs,
      },
      factor,
      estimateMs,
      p80Ms: estimateMs +
        Math.max(0, p80OutputTokens - work.outputTokens) * tpotMs * factor,
      placementMs,
      ttftMs: (waitMs + serviceMs - this.#decodeMs + tpotMs) * factor,
      tpotMs: tpotMs * factor,
      errorMs,
    };
  }
}

/**
 * What a load adds that pushes something out, beside its time: the price of
 * the way back, and both weighted as a queue is. Whoever swaps blocks the device
 * for all who come next, twice. Simulated with two models and room for one per
 * node, mean of four seeds: 52.8 to 16.7 s at load 0.8, 8.32 to 8.15 s at 0.65;
 * where one model is asked for more than twice as often 71 to 54 s at 0.8 and 4 %
 * more at 0.65. A load that pushes nothing out is not weighted: that cost
 * 5 % of the mean on cold models.
 */
function swapMs(evictionMs: number, loadMs: number): number {
  return evictionMs > 0
    ? evictionMs * QUEUE_WEIGHT + loadMs * (QUEUE_WEIGHT - 1)
    : 0;
}

/**
 * Time a request would take once it has a slot.
 *
 * @param work The request.
 * @param offer The model it would run on.
 * @param concurrency Sequences side by side, itself included.
 * @returns Load (if cold), prefill and decode, in milliseconds.
 */
export function serviceMs(
  work: Work,
  offer: Offer,
  concurrency: number,
): number {
  const { lanes, rounds } = work.choices === undefined
    ? ALONE
    : planChoices(work.choices, offer.queue.slots, concurrency);
  const tpotMs = tpotOf(work, offer.rates, concurrency + lanes - 1);
  const decodeMs = work.outputTokens * tpotMs * rounds;
  const reloadMs = work.reloads === true ? offer.rates.loadTimeMs : 0;
  return loadMsOf(offer.state, offer.rates, 0) + reloadMs +
    prefillMsOf(offer, work) + decodeMs;
}

/**
 * Whether a loaded model has to be loaded anew, since it has less context than
 * is wished for.
 *
 * @param contextLength Tokens that the caller wants it to have; absent for what there is.
 * @param offer The model as it is.
 */
export function needsReload(
  contextLength: number | undefined,
  offer: Pick<Offer, "contextLength" | "state">,
): boolean {
  // What is loaded just now may be for such a wish: nobody tells.
  return contextLength !== undefined && offer.state.kind === "warm" &&
    contextLength > offer.contextLength;
}

/**
 * Time per output token at a concurrency.
 *
 * @param rates The model's rates.
 * @param concurrency Sequences side by side, from 1.
 * @param contextTokens Tokens that it is written after; the usual pace where nobody says.
 * @returns Milliseconds; beyond what is known, those of the highest known.
 */
export function tpotAt(
  rates: Pick<Rates, "byLength" | "tpotMs">,
  concurrency: number,
  contextTokens?: number,
): number {
  const at = Math.min(Math.max(concurrency, 1), rates.tpotMs.length) - 1;
  const tpotMs = rates.tpotMs[at] ?? 0;
  return contextTokens === undefined
    ? tpotMs
    : tpotMs * lengthFactor(rates.byLength?.decode, contextTokens);
}

function tpotOf(work: Work, rates: Rates, concurrency: number): number {
  if (!decodes(work.capability)) return 0;
  const { promptTokens, outputTokens } = work;
  const length = decodeLength(promptTokens, outputTokens);
  return tpotAt(rates, concurrency, length);
}

/** Whether answers of a capability come token by token. */
export function decodes(capability: Capability): boolean {
  return capability === "chat" || capability === "completion";
}

/**
 * With what an answer costs once, however short. What is cached went with the
 * weights when they were unloaded.
 */
function prefillMsOf(
  { rates, state }: Offer,
  { promptTokens, cachedTokens, reloads }: Work,
): number {
  const keeps = state.kind === "warm" && reloads !== true;
  const cached = keeps ? cachedTokens ?? 0 : 0;
  const tokens = promptTokens - cached;
  const onceMs = rates.overheadMs ?? 0;
  if (!(tokens > 0)) return onceMs;
  const length = prefillLength(promptTokens, cached);
  return onceMs + tokens / rates.prefillTokensPerSecond * 1000 *
      lengthFactor(rates.byLength?.prefill, length);
}

/** Whether the model is loaded when the queue has run down to this request. */
function isLoadedThen(
  { stated: offer, unseenModel, isPushedOut }: Reckoned,
): boolean {
  if (unseenModel === offer.model) return true;
  if (isPushedOut) return false;
  if (offer.loadedAfterQueue !== undefined) return offer.loadedAfterQueue;
  return offer.state.kind === "warm" || offer.state.kind === "loading";
}

/** A load that others wait for is as good as begun: it is shared. */
function lastOf(state: LoadState, rates: Rates): LoadState {
  return state.kind === "warm" || state.kind === "loading"
    ? state
    : { kind: "loading", remainingMs: rates.loadTimeMs };
}

/** A load that is under way goes on while the newcomer waits for its slot. */
function loadMsOf(state: LoadState, rates: Rates, waitMs: number): number {
  switch (state.kind) {
    case "warm":
      return 0;
    case "cold":
    case "failed":
      return rates.loadTimeMs;
    case "loading":
      return Math.max(0, state.remainingMs - waitMs);
    default: {
      const never: never = state;
      return never;
    }
  }
}
