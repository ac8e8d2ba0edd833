import type { Eviction, Offer } from "../domain/mod.ts";
import type { EngineSnapshot } from "./candidate.ts";

/** Nobody else could serve it meanwhile, so that its reload is waited for. */
const LAST_COPY = 2;

/**
 * What pushing warm models out of memory costs the cluster: of each its reload
 * time, twice that if it is the last warm copy, times the chance that it is
 * asked for again. Without this "soonest" thrashes (routing study, B6). Pure.
 *
 * @param offer The model that would be loaded.
 * @param engine Who offers it.
 * @param engines All engines, to find other warm copies.
 * @returns Milliseconds; 0 where nothing is loaded or evicted.
 */
export function evictionMs(
  offer: Offer,
  engine: EngineSnapshot,
  engines: readonly EngineSnapshot[],
): number {
  const { evicts, state } = offer;
  if (evicts === undefined || evicts.length === 0) return 0;
  const isLoadedThen = offer.loadedAfterQueue ??
    (state.kind === "warm" || state.kind === "loading");
  if (isLoadedThen) return 0;
  return evicts.reduce((sum, eviction) => {
    const { reloadMs, reuseChance = 1 } = eviction;
    const copies = isWarmElsewhere(eviction, engine, engines) ? 1 : LAST_COPY;
    return sum + reloadMs * reuseChance * copies;
  }, 0);
}

function isWarmElsewhere(
  { model }: Eviction,
  engine: EngineSnapshot,
  engines: readonly EngineSnapshot[],
): boolean {
  const root = engine.view.offers.find((one) => one.model === model)?.root ??
    null;
  return engines.some((other) =>
    other.key !== engine.key &&
    other.view.availability.kind !== "unavailable" &&
    other.view.offers.some((one) =>
      one.state.kind === "warm" &&
      (one.model === model || (root !== null && one.root === root))
    )
  );
}
