import type { EngineView, NodeId, Offer, Rates } from "../domain/mod.ts";
import { type AskedOffer, askedOffers } from "./asked_offers.ts";
import type {
  Candidate,
  Demand,
  Doubt,
  EngineSnapshot,
  Unfit,
} from "./candidate.ts";
import {
  needsReload,
  type Reckoned,
  Reckoning,
  type Work,
} from "./estimate.ts";
import { evictionMs, usurperOf, WarmCopies } from "./eviction.ts";
import { longestInput, unfitness } from "./fitness.ts";
import { type ModelName, tierOf } from "./model_name.ts";

/** What a field is made of. */
export interface FieldInput {
  readonly demand: Demand;
  readonly engines: readonly EngineSnapshot[];
  readonly self: NodeId;
  readonly asked?: readonly AskedOffer[];
}

/** A prompt's length is often a guess: an engine this much too small may still be asked. */
const COUNTING_DOUBT = 2;

/**
 * All candidates of one placement as columns of numbers, each predicted in
 * full; objects are made of those that somebody looks at. A thousand objects
 * and their parts for every request cost more in collecting than in reckoning.
 */
export class CandidateField {
  /** What a placement minimises, by candidate. */
  readonly placementMs: number[] = [];
  /** Of the prediction, the wait for a slot. */
  readonly waitMs: number[] = [];
  /** Typical error of the prediction. */
  readonly errorMs: number[] = [];
  /** Tokens of the prompt that are taken to be cached. */
  readonly cachedTokens: number[] = [];
  /** Whether it is on this node. */
  readonly isHere: boolean[] = [];
  readonly #input: FieldInput;
  readonly #asked: readonly AskedOffer[];
  readonly #unfits: (Unfit | null)[] = [];
  readonly #copies: WarmCopies;
  readonly #reckoning = new Reckoning();
  readonly #probe: Probe;
  readonly #made = new Map<number, Candidate>();

  /** @param input Request and engines. */
  constructor(input: FieldInput) {
    const { demand, engines } = input;
    this.#input = input;
    this.#asked = bestOffers(
      input.asked ?? askedOffers(demand.model, engines),
      demand,
    );
    this.#copies = new WarmCopies(engines);
    this.#probe = new Probe(demand);
    for (const one of this.#asked) this.#weigh(one);
    this.#readmit();
  }

  /** How many candidates there are. */
  get size(): number {
    return this.#asked.length;
  }

  /** Why one is not eligible, or null. */
  unfit(at: number): Unfit | null {
    return this.#unfits[at] ?? null;
  }

  /** Which of the asked name's sets its model belongs to. */
  tier(at: number): number {
    return this.#of(at).tier;
  }

  /** Who it is. */
  engine(at: number): EngineSnapshot {
    return this.#engineOf(this.#of(at));
  }

  /** How fast it is. */
  rates(at: number): Rates {
    return this.#of(at).offer.rates;
  }

  /** Whether its model is loaded. */
  isWarm(at: number): boolean {
    return this.#of(at).offer.state.kind === "warm";
  }

  /** The whole candidate, the same object each time. */
  candidate(at: number): Candidate {
    let made = this.#made.get(at);
    if (made === undefined) {
      made = this.#make(at);
      this.#made.set(at, made);
    }
    return made;
  }

  #weigh(asked: AskedOffer): void {
    const { demand, self } = this.#input;
    const engine = this.#engineOf(asked);
    const probe = this.#probed(engine, asked.offer);
    const reckoning = this.#reckoning;
    reckoning.reckon(probe);
    this.#unfits.push(unfitness(demand, engine, asked.offer, self));
    this.placementMs.push(
      doubted(reckoning.placementMs, engine.doubt ?? null),
    );
    this.waitMs.push(reckoning.waitMs);
    this.errorMs.push(reckoning.errorMs);
    this.cachedTokens.push(probe.cachedTokens);
    this.isHere.push(engine.node === self);
  }

  #make(at: number): Candidate {
    const { offer: stated, tier } = this.#of(at);
    const engine = this.engine(at);
    const probe = this.#probed(engine, stated);
    return {
      engine,
      offer: engine.view.stated?.bring(stated) ?? stated,
      estimate: {
        ...this.#reckoning.estimate(probe),
        placementMs: this.placementMs[at] ?? 0,
      },
      unfit: this.unfit(at),
      tier,
      correction: probe.correction,
      cachedTokens: probe.cachedTokens,
    };
  }

  #probed(engine: EngineSnapshot, offer: Offer): Probe {
    const probe = this.#probe;
    probe.aim(engine, offer);
    const usurper = usurperOf(offer, engine, probe.unseenModel);
    probe.isPushedOut = usurper !== null;
    probe.evictionMs = evictionMs(offer, engine, this.#copies, usurper);
    return probe;
  }

  /**
   * Where the prompt seems too long for every engine, the roomiest one may
   * judge by its own count, unless the prompt is too long by any count.
   */
  #readmit(): void {
    const unfits = this.#unfits;
    if (unfits.includes(null)) return;
    let room = 0;
    for (const [at, unfit] of unfits.entries()) {
      if (unfit?.kind !== "context") continue;
      room = Math.max(room, this.#of(at).offer.contextLength);
    }
    if (longestInput(this.#input.demand) > room * COUNTING_DOUBT) return;
    for (const [at, unfit] of unfits.entries()) {
      if (unfit?.kind !== "context") continue;
      if (this.#of(at).offer.contextLength === room) unfits[at] = null;
    }
  }

  #of(at: number): AskedOffer {
    const asked = this.#asked[at];
    if (asked === undefined) throw new RangeError(`No candidate ${at}`);
    return asked;
  }

  #engineOf({ at }: AskedOffer): EngineSnapshot {
    const engine = this.#input.engines[at];
    if (engine === undefined) throw new RangeError(`No engine ${at}`);
    return engine;
  }
}

/** What is predicted for, candidate by candidate, in one object. */
class Probe implements Reckoned {
  work: Work;
  stated!: Offer;
  view!: EngineView;
  unseenMs: readonly number[] = [];
  unseenModel: string | null = null;
  isPushedOut = false;
  evictionMs = 0;
  correction = 1;
  cachedTokens = 0;
  readonly #uncached: Work;
  readonly #contextLength: number | undefined;

  constructor(
    { capability, choices, contextLength, expected, promptTokens }: Demand,
  ) {
    this.#contextLength = contextLength;
    this.#uncached = {
      capability,
      promptTokens,
      outputTokens: expected.medianTokens,
      p80OutputTokens: expected.p80Tokens ?? expected.medianTokens,
      ...(choices === undefined ? {} : { choices }),
    };
    this.work = this.#uncached;
  }

  aim(engine: EngineSnapshot, stated: Offer): void {
    const { device, model, state } = stated;
    this.stated = stated;
    this.view = engine.view;
    this.unseenMs = engine.unseenMs(device);
    this.unseenModel = this.unseenMs.length === 0
      ? null
      : engine.unseenModel?.(device) ?? null;
    this.correction = engine.correction?.(model) ?? 1;
    const reloads = needsReload(this.#contextLength, stated);
    // What is cached goes with the model that is loaded anew.
    this.cachedTokens = state.kind === "warm" && !reloads
      ? engine.cachedTokens?.(model) ?? 0
      : 0;
    this.work = reloads
      ? { ...this.#uncached, reloads }
      : this.cachedTokens === 0
      ? this.#uncached
      : { ...this.#uncached, cachedTokens: this.cachedTokens };
  }
}

/**
 * Whoever fails at once looks idle, and whoever hangs looks as quick as ever:
 * an engine must be sooner by as much again for each recent failure, and by the
 * time that the latest one cost (RTE-03, PRC-06). Its prediction stays as it is.
 */
function doubted(placementMs: number, doubt: Doubt | null): number {
  if (doubt === null || doubt.errors === 0) return placementMs;
  return placementMs * (1 + doubt.errors) + doubt.lostMs;
}

/**
 * Of each engine the best offer in each set of the asked name: the right
 * capability wins, then the spelling that was asked for, then any name over
 * equal weights.
 */
function bestOffers(
  asked: readonly AskedOffer[],
  demand: Demand,
): readonly AskedOffer[] {
  const best: AskedOffer[] = [];
  /** Where the offers of the engine begin that is looked at. */
  let from = 0;
  for (const one of asked) {
    if (best[from]?.at !== one.at) from = best.length;
    let rival = from;
    while (rival < best.length && best[rival]?.tier !== one.tier) rival++;
    const known = best[rival];
    if (known === undefined) best.push(one);
    else if (rank(one.offer, demand) > rank(known.offer, demand)) {
      best[rival] = one;
    }
  }
  return best;
}

function rank(
  offer: Offer,
  { capability, model }: { capability: Demand["capability"]; model: ModelName },
): number {
  return (offer.capabilities.includes(capability) ? 4 : 0) +
    (offer.model === model.asked ? 2 : 0) +
    (tierOf(model, offer.model, offer.isPaid) === null ? 0 : 1);
}
