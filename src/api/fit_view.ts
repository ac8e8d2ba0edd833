import {
  fitsInto,
  type JsonObject,
  type MachineReading,
  type MemberView,
  type MemoryNeed,
  neededMemory,
  type NodeId,
  type PlacedOffer,
  roomOnCards,
  splitMemory,
} from "../domain/mod.ts";

/**
 * Say of every member whether a model fits into its memory.
 *
 * @param offers What engines say of the model.
 * @param members The member table.
 * @returns A row for each engine that has it, and one for each other member that might get it.
 */
export function fitRows(
  offers: readonly PlacedOffer[],
  members: readonly MemberView[],
): readonly JsonObject[] {
  const machines = new Map(members.map((one) => [one.id, one.machine]));
  const memoryOf = (node: NodeId) => memoryOfMachine(machines.get(node));
  const having = new Set(offers.map(({ node }) => node));
  const known = offers.find(({ offer }) => offer.memory !== undefined)?.offer;
  return [
    ...offers.map(({ engine, node, nodeName, offer }) => ({
      node,
      nodeName,
      engine,
      ...needOf(offer.memory),
      ...memoryOf(node),
      cardBytes: offer.residency === undefined
        ? onCards(offer.memory, memoryOf(node))
        : offer.residency.cardBytes ?? null,
      contextLength: offer.contextLength,
      contextLimit: Math.max(offer.contextLength, offer.contextLimit ?? 0),
      slots: offer.queue.slots,
      ...verdictOf(offer, memoryOf(node)),
    })),
    ...members
      .filter(({ id, role, state }) =>
        !having.has(id) && role !== "controller" &&
        (state ?? "member") === "member"
      )
      .map(({ id, name }) => ({
        node: id,
        nodeName: name,
        engine: null,
        ...needOf(known?.memory),
        ...memoryOf(id),
        cardBytes: onCards(known?.memory, memoryOf(id)),
        contextLength: known?.contextLength ?? null,
        contextLimit: null,
        slots: known?.queue.slots ?? null,
        ...verdictElsewhere(known?.memory, memoryOf(id)),
      })),
  ];
}

/** What is known of a machine's memory. */
interface MachineMemory {
  readonly freeBytes: number | null;
  readonly totalBytes: number | null;
  readonly cardFreeBytes: number | null;
  readonly cardTotalBytes: number | null;
}

function memoryOfMachine(machine: MachineReading | undefined): MachineMemory {
  return {
    freeBytes: machine?.memoryAvailableBytes ?? null,
    totalBytes: machine?.memoryTotalBytes ?? null,
    cardFreeBytes: machine?.cardMemoryFreeBytes ?? null,
    cardTotalBytes: machine?.cardMemoryTotalBytes ?? null,
  };
}

/** What of a model would lie on cards if it were loaded now. */
function onCards(
  memory: MemoryNeed | undefined,
  { cardFreeBytes, cardTotalBytes }: MachineMemory,
): number | null {
  if (memory === undefined || cardTotalBytes === null) return null;
  const room = roomOnCards(cardTotalBytes, cardFreeBytes);
  return Math.round(splitMemory(memory, room).cardBytes);
}

/** Whether a model can be had. */
type Verdict =
  | "loaded"
  | "fits"
  /** Once models that are idle have left. */
  | "fits_after_unloading"
  /** Others hold what it needs. */
  | "no_room_now"
  /** All of the machine's memory is too little. */
  | "too_large"
  | "unknown";

function verdictOf(
  { memory, misfit, state }: PlacedOffer["offer"],
  { cardFreeBytes, cardTotalBytes, freeBytes }: MachineMemory,
): { readonly verdict: Verdict; readonly reason: string | null } {
  if (state.kind === "warm" || state.kind === "loading") {
    return { verdict: "loaded", reason: null };
  }
  if (misfit !== undefined) {
    const verdict = misfit.retryInMs === null ? "too_large" : "no_room_now";
    return { verdict, reason: misfit.reason };
  }
  if (memory === undefined || freeBytes === null) {
    return { verdict: "unknown", reason: null };
  }
  const cardBytes = roomOnCards(cardTotalBytes, cardFreeBytes);
  const isFree = fitsInto(memory, { ramBytes: freeBytes, cardBytes });
  return { verdict: isFree ? "fits" : "fits_after_unloading", reason: null };
}

function verdictElsewhere(
  memory: MemoryNeed | undefined,
  { cardFreeBytes, cardTotalBytes, freeBytes, totalBytes }: MachineMemory,
): { readonly verdict: Verdict; readonly reason: string | null } {
  const reason = "It does not have the model";
  if (memory === undefined || freeBytes === null || totalBytes === null) {
    return { verdict: "unknown", reason };
  }
  const all = {
    ramBytes: totalBytes,
    cardBytes: roomOnCards(cardTotalBytes, cardTotalBytes),
  };
  if (!fitsInto(memory, all)) return { verdict: "too_large", reason };
  const free = {
    ramBytes: freeBytes,
    cardBytes: roomOnCards(cardTotalBytes, cardFreeBytes),
  };
  return { verdict: fitsInto(memory, free) ? "fits" : "no_room_now", reason };
}

function needOf(memory: MemoryNeed | undefined): JsonObject {
  return {
    weightsBytes: memory?.weightsBytes ?? null,
    cacheBytes: memory?.cacheBytes ?? null,
    computeBytes: memory?.computeBytes ?? null,
    neededBytes: memory === undefined ? null : neededMemory(memory),
  };
}
