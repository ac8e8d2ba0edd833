import type { Eviction, Offer, OfferIndex } from "../domain/mod.ts";
import { tableOf } from "./asked_offers.ts";
import type { EngineSnapshot } from "./candidate.ts";

/** Nobody else could serve it meanwhile, so that its reload is waited for. */
const LAST_COPY = 2;

/** Which models are warm on several engines, found out when first asked for. */
export class WarmCopies {
  readonly #engines: readonly EngineSnapshot[];
  /** By name and by root of what is warm: the first two engines on which it is. */
  readonly #holders = new Map<string, readonly EngineSnapshot[]>();

  /** @param engines All engines. */
  constructor(engines: readonly EngineSnapshot[]) {
    this.#engines = engines;
  }

  /** Whether a model that is warm on an engine is warm on another one too. */
  isElsewhere(model: string, engine: EngineSnapshot): boolean {
    const isNamed = (table: OfferIndex) => table.named(model);
    if (this.#others(model, engine, isNamed)) return true;
    const root = tableOf(engine).rootOf(model);
    return root !== null &&
      this.#others(`root ${root}`, engine, (table) => table.rooted(root));
  }

  #others(
    key: string,
    engine: EngineSnapshot,
    find: (table: OfferIndex) => readonly Offer[],
  ): boolean {
    let holders = this.#holders.get(key);
    if (holders === undefined) {
      holders = this.#firstTwo(find);
      this.#holders.set(key, holders);
    }
    return holders.some((one) => one !== engine);
  }

  /** Two are enough to know whether there is another one, whoever asks. */
  #firstTwo(
    find: (table: OfferIndex) => readonly Offer[],
  ): readonly EngineSnapshot[] {
    const found: EngineSnapshot[] = [];
    for (const engine of this.#engines) {
      if (engine.view.availability.kind === "unavailable") continue;
      const isWarm = find(tableOf(engine)).some(({ state }) =>
        state.kind === "warm"
      );
      if (isWarm && found.push(engine) === 2) break;
    }
    return found;
  }
}

/**
 * What pushing warm models out of memory costs the cluster: of each its reload
 * time, twice that if it is the last warm copy, times the chance that it is
 * asked for again. Without this "soonest" thrashes (routing study, B6). Pure.
 *
 * @param offer The model that would be loaded.
 * @param engine Who offers it.
 * @param copies What is warm elsewhere.
 * @param usurper Whose load is under way to push it out, so that it has to come back; null for nobody's.
 * @returns Milliseconds; 0 where nothing is loaded or evicted.
 */
export function evictionMs(
  offer: Offer,
  engine: EngineSnapshot,
  copies: WarmCopies,
  usurper: Offer | null = null,
): number {
  const { evicts, loadedAfterQueue, state } = offer;
  if (usurper !== null) {
    // Somebody has just asked for it.
    const { model, rates: { loadTimeMs: reloadMs } } = usurper;
    return priceOf({ model, reloadMs, idleMs: 0 }, engine, copies);
  }
  if (evicts === undefined || evicts.length === 0) return 0;
  const isLoadedThen = loadedAfterQueue ??
    (state.kind === "warm" || state.kind === "loading");
  if (isLoadedThen) return 0;
  return evicts.reduce(
    (sum, eviction) => sum + priceOf(eviction, engine, copies),
    0,
  );
}

/**
 * Find the model that an own dispatch, which no report holds yet, is about to
 * load in place of an offered one.
 *
 * @param offer The offered model.
 * @param engine Who offers it.
 * @param unseenModel Model of the last such dispatch to the device, or null.
 * @returns The engine's offer of that other model, or null where this one stays.
 */
export function usurperOf(
  offer: Offer,
  engine: EngineSnapshot,
  unseenModel: string | null,
): Offer | null {
  if (unseenModel === null || unseenModel === offer.model) return null;
  const other = tableOf(engine).named(unseenModel)[0];
  return other?.evicts?.some(({ model }) => model === offer.model) === true
    ? other
    : null;
}

function priceOf(
  { model, reloadMs, reuseChance = 1 }: Eviction,
  engine: EngineSnapshot,
  copies: WarmCopies,
): number {
  if (reuseChance === 0) return 0;
  const factor = copies.isElsewhere(model, engine) ? 1 : LAST_COPY;
  return reloadMs * reuseChance * factor;
}
