import {
  type MachineReading,
  type NodeId,
  type QueueReport,
  roomOnCards,
} from "@covey/core/domain";

/** A new request's predicted wait from which on a member counts as saturated. */
export const SATURATED_MS = 10_000;
/** How long every holder of a model has to be saturated without a break. */
export const WINDOW_MS = 60_000;
/** After a copy was asked for, how long none is. */
export const COOL_DOWN_MS = 15 * 60_000;
/** Memory that a model is taken to need, over the size of its weights. */
const MEMORY_FACTOR = 1.3;
/** What stays free on a disk: what a healthy machine has. */
const FREE_SHARE = 0.1;
const FREE_BYTES = 20e9;

/** A model on a member. */
export interface HeldModel {
  readonly model: string;
  readonly root: string;
  readonly sizeBytes: number;
  readonly isWarm: boolean;
  /** Work of the device it runs on. */
  readonly queue: QueueReport;
}

/** A member as placement sees it. */
export interface PlacedMember {
  readonly node: NodeId;
  readonly name: string;
  /** Whether requests may be sent to it, and it may be asked to copy. */
  readonly isTaking: boolean;
  /** Whether it runs models of its own folder at all. */
  readonly runsModels: boolean;
  readonly models: readonly HeldModel[];
  /** Queues of all its devices. */
  readonly queues: readonly QueueReport[];
  readonly machine: MachineReading | null;
}

/** What a placement is decided on. */
export interface PlacementFacts {
  readonly nowMs: number;
  readonly self: PlacedMember;
  readonly peers: readonly PlacedMember[];
  /** Whether some copy is under way. */
  readonly isCopying: boolean;
}

/** A copy to ask for. */
export interface PlacementAsk {
  readonly model: string;
  readonly root: string;
  readonly to: NodeId;
  /** For the log and for people. */
  readonly reason: string;
}

/** What is remembered from one look to the next. */
export interface PlacementMemory {
  /** Since when all holders of a root were seen saturated. */
  readonly saturatedSinceMs: ReadonlyMap<string, number>;
  /** When a copy was asked for last, or null. */
  readonly askedAtMs: number | null;
}

/** Nothing was seen yet. */
export const NO_PLACEMENT: PlacementMemory = {
  saturatedSinceMs: new Map(),
  askedAtMs: null,
};

/**
 * Decide whether a model of this node is to be copied to an idle member: one
 * look, of many in a row. Of several members that have the model, the one with
 * the smallest id decides, and only while each of them is saturated. What is
 * not known of a machine speaks against it.
 *
 * @param memory What the look before came to.
 * @param facts What is so now.
 * @returns What to remember, and a copy to ask for or null.
 */
export function decidePlacement(
  memory: PlacementMemory,
  { isCopying, nowMs, peers, self }: PlacementFacts,
): { readonly memory: PlacementMemory; readonly ask: PlacementAsk | null } {
  const since = new Map<string, number>();
  for (const { isWarm, queue, root } of self.models) {
    if (!isWarm || waitOf(queue) < SATURATED_MS) continue;
    const holders = peers.flatMap(({ isTaking, models, node }) =>
      isTaking
        ? models.filter((one) => one.root === root).map((one) => ({
          node,
          queue: one.queue,
        }))
        : []
    );
    const isMine = holders.every(({ node, queue }) =>
      self.node < node && waitOf(queue) >= SATURATED_MS
    );
    if (isMine) {
      since.set(root, memory.saturatedSinceMs.get(root) ?? nowMs);
    }
  }
  const { askedAtMs } = memory;
  const kept = { saturatedSinceMs: since, askedAtMs };
  const rests = askedAtMs !== null && nowMs - askedAtMs < COOL_DOWN_MS;
  if (rests || isCopying) return { memory: kept, ask: null };
  for (const [root, startMs] of since) {
    const model = self.models.find((one) => one.root === root);
    if (model === undefined || nowMs - startMs < WINDOW_MS) continue;
    const [best] = peers.filter((peer) => couldHold(peer, model))
      .toSorted((a, b) => freeMemoryOf(b) - freeMemoryOf(a));
    if (best === undefined) continue;
    const waitS = Math.round(waitOf(model.queue) / 1000);
    return {
      memory: { saturatedSinceMs: new Map(), askedAtMs: nowMs },
      ask: {
        model: model.model,
        root,
        to: best.node,
        reason: `"${self.name}" has had requests wait ${waitS} s and more for ${
          Math.round((nowMs - startMs) / 1000)
        } s, and "${best.name}" is idle`,
      },
    };
  }
  return { memory: kept, ask: null };
}

/** Milliseconds that a request which came now would wait. */
function waitOf({ runningMs, slots, waitingMs }: QueueReport): number {
  if (runningMs.length < slots) return 0;
  const work = [...runningMs, ...waitingMs].reduce((sum, ms) => sum + ms, 0);
  return work / Math.max(1, slots);
}

function couldHold(
  { isTaking, machine, models, queues, runsModels }: PlacedMember,
  { root, sizeBytes }: HeldModel,
): boolean {
  const isIdle = queues.every(({ runningMs, waitingMs }) =>
    runningMs.length + waitingMs.length === 0
  );
  if (
    !isTaking || !runsModels || !isIdle || machine === null ||
    models.some((one) => one.root === root)
  ) return false;
  const { diskFreeBytes, diskTotalBytes, memoryTotalBytes } = machine;
  const { cardMemoryTotalBytes: cardBytes } = machine;
  return diskFreeBytes !== null && diskTotalBytes !== null &&
    memoryTotalBytes !== null &&
    memoryTotalBytes + roomOnCards(cardBytes, cardBytes) >=
      sizeBytes * MEMORY_FACTOR &&
    diskFreeBytes - sizeBytes >=
      Math.min(diskTotalBytes * FREE_SHARE, FREE_BYTES);
}

function freeMemoryOf({ machine }: PlacedMember): number {
  const { cardMemoryFreeBytes = null, cardMemoryTotalBytes = null } = machine ??
    {};
  return (machine?.memoryAvailableBytes ?? 0) +
    roomOnCards(cardMemoryTotalBytes, cardMemoryFreeBytes);
}
