import {
  bytesToStayFree,
  fitsInto,
  type JsonObject,
  type MachineReading,
  type MemberView,
  type MemoryNeed,
  type MemoryRoom,
  type ModelForecast,
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
      .filter((one) => !having.has(one.id) && mayHold(one))
      .map(({ health, id, name }) => ({
        node: id,
        nodeName: name,
        engine: null,
        ...needOf(known?.memory),
        ...memoryOf(id),
        cardBytes: onCards(known?.memory, memoryOf(id)),
        contextLength: known?.contextLength ?? null,
        contextLimit: null,
        slots: known?.queue.slots ?? null,
        ...unlessAway(health, {
          verdict: judge(known?.memory, memoryOf(id)),
          reason: "It does not have the model",
        }),
      })),
  ];
}

/**
 * Say of every member whether a model would fit into its memory and onto its
 * disk that nobody has yet.
 *
 * @param forecast What its header tells.
 * @param members The member table.
 * @returns A row for each member that might get it.
 */
export function forecastRows(
  { reckon, sizeBytes }: ModelForecast,
  members: readonly MemberView[],
): readonly JsonObject[] {
  return members.filter(mayHold).map(({ health, id, machine, name }) => {
    const has = memoryOfMachine(machine);
    const total = totalOf(has);
    const { contextLength, memory, slots } = reckon(total);
    const verdict = judge(memory, has);
    const hasDisk = diskHolds(machine, sizeBytes);
    const free = machine?.diskFreeBytes ?? null;
    return {
      node: id,
      nodeName: name,
      engine: null,
      ...needOf(memory),
      ...has,
      cardBytes: onCards(memory, has),
      contextLength,
      contextLimit: null,
      slots,
      diskFreeBytes: free,
      ...unlessAway(health, {
        verdict: hasDisk !== false || verdict === "too_large"
          ? verdict
          : "no_disk",
        reason: hasDisk === false && free !== null
          ? `It has ${gigabytes(free)} of disk left, and ${
            gigabytes(sizeBytes)
          } would come`
          : null,
      }),
    };
  });
}

function mayHold({ role, state }: MemberView): boolean {
  return role !== "controller" && (state ?? "member") === "member";
}

/** Whether a disk has room beside what is to stay free; null where nobody knows. */
function diskHolds(
  machine: MachineReading | undefined,
  sizeBytes: number,
): boolean | null {
  const free = machine?.diskFreeBytes ?? null;
  const total = machine?.diskTotalBytes ?? null;
  if (free === null) return null;
  return free - sizeBytes >= (total === null ? 0 : bytesToStayFree(total));
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`;
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
  /** Memory would do, and the disk has no room. */
  | "no_disk"
  | "unknown";

interface Judgement {
  readonly verdict: Verdict;
  readonly reason: string | null;
}

/** What is free on a member that is off line, and what it has, nobody knows; how large it is they do. */
function unlessAway(
  health: MemberView["health"],
  judged: Judgement,
): Judgement {
  return health !== "offline" || judged.verdict === "too_large"
    ? judged
    : { verdict: "unknown", reason: "It is off line" };
}

function verdictOf(
  { memory, misfit, state }: PlacedOffer["offer"],
  { cardFreeBytes, cardTotalBytes, freeBytes }: MachineMemory,
): Judgement {
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

function judge(
  memory: MemoryNeed | undefined,
  machine: MachineMemory,
): Verdict {
  const { cardFreeBytes, cardTotalBytes, freeBytes } = machine;
  const all = totalOf(machine);
  if (memory === undefined || freeBytes === null || all === null) {
    return "unknown";
  }
  if (!fitsInto(memory, all)) return "too_large";
  const cardBytes = roomOnCards(cardTotalBytes, cardFreeBytes);
  return fitsInto(memory, { ramBytes: freeBytes, cardBytes })
    ? "fits"
    : "no_room_now";
}

/** All that models could have of a machine; null where nobody knows. */
function totalOf(
  { cardTotalBytes, totalBytes }: MachineMemory,
): MemoryRoom | null {
  return totalBytes === null ? null : {
    ramBytes: totalBytes,
    cardBytes: roomOnCards(cardTotalBytes, cardTotalBytes),
  };
}

function needOf(memory: MemoryNeed | undefined): JsonObject {
  return {
    weightsBytes: memory?.weightsBytes ?? null,
    cacheBytes: memory?.cacheBytes ?? null,
    computeBytes: memory?.computeBytes ?? null,
    neededBytes: memory === undefined ? null : neededMemory(memory),
  };
}
