/** A model in memory, as far as making room is concerned. */
export interface Resident {
  readonly name: string;
  readonly inUse: boolean;
  readonly isPinned: boolean;
  readonly lastUsedMs: number;
}

/** What keeps the machine from swapping once a model is loaded. */
const HEADROOM_BYTES = 512 * 1024 * 1024;

/**
 * Memory that is to be free before a model is loaded, if idle ones can give it.
 *
 * @param bytes What the model takes.
 */
export function roomFor(bytes: number): number {
  return bytes + HEADROOM_BYTES;
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
 * @returns The idle one without a pin that was used least recently, or null
 * where none is needed or there is none.
 */
export function chooseVictim(
  freeBytes: number,
  needed: number,
  residents: readonly Resident[],
): Resident | null {
  if (freeBytes >= needed) return null;
  return residents
    .filter(({ inUse, isPinned }) => !inUse && !isPinned)
    .reduce<Resident | null>(
      (oldest, one) =>
        oldest === null || one.lastUsedMs < oldest.lastUsedMs ? one : oldest,
      null,
    );
}
