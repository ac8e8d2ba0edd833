import type { Eviction, Offer } from "../domain/mod.ts";
import { tableOf } from "./asked_offers.ts";
import type { EngineSnapshot } from "./candidate.ts";

/** Nobody else could serve it meanwhile, so that its reload is waited for. */
const LAST_COPY = 2;

/** Which models are warm on several engines, counted when first asked for. */
export class WarmCopies {
  readonly #engines: readonly EngineSnapshot[];
  /** Engines by name, and by root, of what is warm on them. */
  #counts: Map<string, number> | null = null;

  /** @param engines All engines. */
  constructor(engines: readonly EngineSnapshot[]) {
    this.#engines = engines;
  }

  /** Whether a model that is warm on an engine is warm on another one too. */
  isElsewhere(model: string, engine: EngineSnapshot): boolean {
    const counts = this.#counts ??= countWarm(this.#engines);
    const index = tableOf(engine);
    const here = index.warm().some((one) => one.model === model) ? 1 : 0;
    if ((counts.get(model) ?? 0) > here) return true;
    const root = index.rootOf(model);
    return root !== null && (counts.get(`root ${root}`) ?? 0) > here;
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

function countWarm(engines: readonly EngineSnapshot[]): Map<string, number> {
  const counts = new Map<string, number>();
  const add = (key: string) => counts.set(key, (counts.get(key) ?? 0) + 1);
  for (const engine of engines) {
    if (engine.view.availability.kind === "unavailable") continue;
    for (const { model, root } of tableOf(engine).warm()) {
      add(model);
      if (root !== null) add(`root ${root}`);
    }
  }
  return counts;
}
