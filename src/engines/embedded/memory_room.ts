/** A model in memory, as far as making room is concerned. */
export interface Resident {
  readonly name: string;
  readonly inUse: boolean;
  readonly lastUsedMs: number;
}

const HEADROOM_FACTOR = 1.2;
const HEADROOM_BYTES = 512 * 1024 * 1024;

/**
 * Memory a model needs before it is loaded: weights, caches, and what keeps the
 * machine from swapping.
 */
export function neededBytes(sizeBytes: number): number {
  return sizeBytes * HEADROOM_FACTOR + HEADROOM_BYTES;
}

/** Memory that a loaded model holds. */
export function heldBytes(sizeBytes: number): number {
  return sizeBytes * HEADROOM_FACTOR;
}

/**
 * Foresee which models would have to go for another one.
 *
 * @param freeBytes Memory that is free now.
 * @param needed Memory that is needed.
 * @param residents Models in memory with what each holds.
 * @returns Those that would be unloaded, in order.
 */
export function victimsFor<T extends Resident & { readonly bytes: number }>(
  freeBytes: number,
  needed: number,
  residents: readonly T[],
): readonly T[] {
  const victims: T[] = [];
  let free = freeBytes;
  for (;;) {
    const left = residents.filter((one) => !victims.includes(one));
    const name = chooseVictim(free, needed, left)?.name;
    const victim = left.find((one) => one.name === name);
    if (victim === undefined) return victims;
    victims.push(victim);
    free += victim.bytes;
  }
}

/**
 * Choose the model to unload next for another one.
 *
 * @param freeBytes Memory that is free now.
 * @param needed Memory that is needed.
 * @param residents Models in memory.
 * @returns The idle one that was used least recently, or null where none is
 * needed or none is idle.
 */
export function chooseVictim(
  freeBytes: number,
  needed: number,
  residents: readonly Resident[],
): Resident | null {
  if (freeBytes >= needed) return null;
  return residents
    .filter(({ inUse }) => !inUse)
    .reduce<Resident | null>(
      (oldest, one) =>
        oldest === null || one.lastUsedMs < oldest.lastUsedMs ? one : oldest,
      null,
    );
}
