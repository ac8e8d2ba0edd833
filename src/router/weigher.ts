import type { Engine, InferenceRequest } from "../domain/mod.ts";
import type { Demand, EngineSnapshot } from "./candidate.ts";
import { demandOf, demandOfRest } from "./demand.ts";
import { place, type PlaceInput, type Placement } from "./place.ts";
import { placeOf } from "./prefix_book.ts";
import type { PrefixChain } from "./prefix_chain.ts";
import type { RunContext } from "./run_context.ts";

/** Candidates as they are at one moment. */
export interface Weighed {
  readonly demand: Demand;
  readonly engines: ReadonlyMap<string, Engine>;
  readonly placement: Placement;
  /** What the placement was made from. */
  readonly input: PlaceInput;
}

/** Looks at all engines for one request, as often as it must be placed. */
export class Weigher {
  readonly #context: RunContext;
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
    context: RunContext,
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
    const engines = new Map<string, Engine>();
    const snapshots: EngineSnapshot[] = [];
    const cached = this.#cachedTokens();
    for (const engine of this.#context.engines()) {
      const snapshot = this.#snapshot(engine, cached);
      const { key } = snapshot;
      if (tried.has(key) && key !== current) continue;
      engines.set(key, engine);
      snapshots.push(snapshot);
    }
    const { self, policy, lengths } = this.#context;
    const whole = demandOf(
      this.#request,
      snapshots,
      lengths,
      this.#context.modelSets,
    );
    const demand = resume === null ? whole : demandOfRest(whole, resume);
    const input: PlaceInput = {
      demand,
      engines: snapshots,
      self,
      policy,
      seed: this.#seed,
    };
    return { demand, engines, placement: place(input), input };
  }

  #cachedTokens(): ReadonlyMap<string, number> {
    return this.#chain === null ? new Map() : this.#context.prefixes.look(
      this.#chain,
      this.#context.clock.monotonic(),
    );
  }

  #snapshot(
    engine: Engine,
    cached: ReadonlyMap<string, number>,
  ): EngineSnapshot {
    const { ledger, standings, clock } = this.#context;
    const view = engine.view();
    const key = `${engine.node}/${engine.id}`;
    return {
      key,
      node: engine.node,
      nodeName: engine.nodeName,
      engine: engine.id,
      view,
      unseenMs: (device) =>
        ledger.unseenMs(engine.node, device, view.dispatchesSeen),
      unseenModel: (device) =>
        ledger.unseenModel(engine.node, device, view.dispatchesSeen),
      correction: (model) =>
        this.#context.corrections.factor(
          placeOf(key, model),
          clock.monotonic(),
        ),
      bar: standings.bar({ key, node: engine.node }, clock.monotonic()),
      doubt: standings.doubt(
        { key, node: engine.node },
        clock.monotonic(),
      ),
      cachedTokens: (model) => cached.get(placeOf(key, model)) ?? 0,
    };
  }
}
