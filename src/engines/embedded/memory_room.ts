import type { MemoryRoom } from "../../domain/mod.ts";

/** A model in memory, as far as making room is concerned. */
export interface Resident extends MemoryRoom {
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
 * Put some memory together.
 *
 * @param rooms Parts of it.
 */
export function addRooms(rooms: readonly MemoryRoom[]): MemoryRoom {
  return rooms.reduce<MemoryRoom>(
    (sum, { cardBytes, ramBytes }) => ({
      ramBytes: sum.ramBytes + ramBytes,
      cardBytes: sum.cardBytes + cardBytes,
    }),
    { ramBytes: 0, cardBytes: 0 },
  );
}

/**
 * Foresee which models would have to go for another one.
 *
 * @param free Memory that is free now.
 * @param needed Memory that is needed.
 * @param residents Models in memory with what each holds.
 * @returns Those that would be unloaded, in order.
 */
export function victimsFor<T extends Resident>(
  free: MemoryRoom,
  needed: MemoryRoom,
  residents: readonly T[],
): readonly T[] {
  const victims: T[] = [];
  for (;;) {
    const left = residents.filter((one) => !victims.includes(one));
    const name = chooseVictim(addRooms([free, ...victims]), needed, left)?.name;
    const victim = left.find((one) => one.name === name);
    if (victim === undefined) return victims;
    victims.push(victim);
  }
}

/**
 * Choose the model to unload next for another one.
 *
 * @param free Memory that is free now.
 * @param needed Memory that is needed.
 * @param residents Models in memory.
 * @returns The idle one without a pin that was used least recently, of those
 * that hold some of what is short, or null where none is needed or there is none.
 */
export function chooseVictim(
  free: MemoryRoom,
  needed: MemoryRoom,
  residents: readonly Resident[],
): Resident | null {
  const lacksRam = free.ramBytes < needed.ramBytes;
  const lacksCard = free.cardBytes < needed.cardBytes;
  return residents
    .filter(({ cardBytes, inUse, isPinned, ramBytes }) =>
      !inUse && !isPinned &&
      ((lacksRam && ramBytes > 0) || (lacksCard && cardBytes > 0))
    )
    .reduce<Resident | null>(
      (oldest, one) =>
        oldest === null || one.lastUsedMs < oldest.lastUsedMs ? one : oldest,
      null,
    );
}
