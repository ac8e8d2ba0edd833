import type {
  Engine,
  EngineView,
  InferenceRequest,
  NodeId,
} from "../domain/mod.ts";
import type {
  Bar,
  Candidate,
  Demand,
  Doubt,
  EngineSnapshot,
} from "./candidate.ts";
import { askedOffers } from "./asked_offers.ts";
import { demandOf, demandOfRest } from "./demand.ts";
import type { EngineNames } from "./engine_names.ts";
import { parseModelName } from "./model_name.ts";
import { place, type PlaceInput, type Placement } from "./place.ts";
import type { PrefixChain } from "./prefix_chain.ts";
import { processIn } from "./process_change.ts";
import type { RunContext } from "./run_context.ts";

/** Candidates as they are at one moment. */
export interface Weighed {
  readonly demand: Demand;
  readonly placement: Placement;
  /** What the placement was made from. */
  readonly input: PlaceInput;
  /** The engine of a candidate. */
  engineOf(candidate: Candidate): Engine | undefined;
}

/** Of the router's state, what a look at all engines reads. */
export type WeigherContext = Pick<
  RunContext,
  | "clock"
  | "corrections"
  | "engines"
  | "ledger"
  | "lengths"
  | "modelSets"
  | "names"
  | "policy"
  | "prefixes"
  | "self"
  | "standings"
>;

/** Looks at all engines for one request, as often as it must be placed. */
export class Weigher {
  readonly #context: WeigherContext;
  readonly #request: InferenceRequest;
  readonly #chain: PrefixChain | null;
  readonly #seed: number;

  /**
   * @param context The router's state, which is only read.
   * @param request What the client asked.
   * @param chain What its prompt begins with, or null where nothing is decoded.
   * @param seed Draws among equals.
   */
  constructor(
    context: WeigherContext,
    request: InferenceRequest,
    chain: PrefixChain | null,
    seed: number,
  ) {
    this.#context = context;
    this.#request = request;
    this.#chain = chain;
    this.#seed = seed;
  }

  /**
   * Weigh the engines that were not tried.
   *
   * @param tried Keys of those that were.
   * @param current Key of one that is weighed all the same, or null.
   * @param resume What there is of the answer already, or null.
   */
  weigh(
    tried: ReadonlySet<string>,
    current: string | null,
    resume: { readonly tokens: number; readonly root: string } | null,
  ): Weighed {
    const { clock, engines } = this.#context;
    const moment = new Moment(this.#context, this.#chain, clock.monotonic());
    const snapshots: LiveSnapshot[] = [];
    for (const engine of engines()) {
      const snapshot = new LiveSnapshot(moment, engine);
      const isTried = tried.size > 0 && tried.has(snapshot.key) &&
        snapshot.key !== current;
      if (!isTried) snapshots.push(snapshot);
    }
    const { self, policy, lengths, modelSets } = this.#context;
    const name = parseModelName(this.#request.model, modelSets);
    const asked = askedOffers(name, snapshots);
    const whole = demandOf(this.#request, snapshots, lengths, modelSets, asked);
    const demand = resume === null ? whole : demandOfRest(whole, resume);
    const input: PlaceInput = {
      demand,
      engines: snapshots,
      self,
      policy,
      seed: this.#seed,
      asked,
    };
    return {
      demand,
      placement: place(input),
      input,
      engineOf: ({ engine }) =>
        engine instanceof LiveSnapshot ? engine.source : undefined,
    };
  }
}

/** What the snapshots of one look at all engines share. */
class Moment {
  readonly context: WeigherContext;
  readonly nowMs: number;
  /** Whether nothing is to be said against any engine. */
  readonly isClear: boolean;
  /** Tokens of the prompt by place. */
  readonly cached: ReadonlyMap<string, number>;

  constructor(
    context: WeigherContext,
    chain: PrefixChain | null,
    nowMs: number,
  ) {
    this.context = context;
    this.nowMs = nowMs;
    this.isClear = context.standings.isClear(nowMs);
    this.cached = chain === null
      ? NOTHING
      : context.prefixes.look(chain, nowMs);
  }
}

const NOTHING: ReadonlyMap<string, number> = new Map();

/** An engine as it is at one moment. Small, because there are many for every request. */
class LiveSnapshot implements EngineSnapshot {
  readonly source: Engine;
  readonly view: EngineView;
  readonly #moment: Moment;
  #names: EngineNames | null = null;
  /** Undefined until somebody asks. */
  #bar: Bar | null | undefined;
  #doubt: Doubt | null | undefined;

  constructor(moment: Moment, source: Engine) {
    this.#moment = moment;
    this.source = source;
    this.view = source.view(moment.nowMs);
  }

  get key(): string {
    return this.#named().key;
  }

  get node(): NodeId {
    return this.source.node;
  }

  get nodeName(): string {
    return this.source.nodeName;
  }

  get engine(): string {
    return this.source.id;
  }

  get bar(): Bar | null {
    if (this.#bar === undefined) {
      const { context: { standings }, isClear, nowMs } = this.#moment;
      this.#bar = isClear ? null : standings.bar(this, nowMs);
    }
    return this.#bar;
  }

  get doubt(): Doubt | null {
    if (this.#doubt === undefined) {
      const { context: { standings }, isClear, nowMs } = this.#moment;
      this.#doubt = isClear ? null : standings.doubt(this, nowMs);
    }
    return this.#doubt;
  }

  process(model: string): string | null {
    return processIn(this.view, model);
  }

  unseenMs(device: string): readonly number[] {
    return this.#moment.context.ledger.unseenMs(
      this.node,
      device,
      this.view.dispatchesSeen,
    );
  }

  unseenModel(device: string): string | null {
    return this.#moment.context.ledger.unseenModel(
      this.node,
      device,
      this.view.dispatchesSeen,
    );
  }

  correction(model: string): number {
    const { context: { corrections }, nowMs } = this.#moment;
    return corrections.factor(this.#place(model), nowMs);
  }

  cachedTokens(model: string): number {
    const { cached } = this.#moment;
    return cached.size === 0 ? 0 : cached.get(this.#place(model)) ?? 0;
  }

  #place(model: string): string {
    return this.#named().place(model);
  }

  #named(): EngineNames {
    return this.#names ??= this.#moment.context.names.of(this.source);
  }
}
