import {
  type CopyHelp,
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
/** Members that a sentence names. */
const MOST_TOLD = 8;

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

/** What one look came to. */
export interface PlacementLook {
  /** What to remember. */
  readonly memory: PlacementMemory;
  /** A copy to ask for, or null. */
  readonly ask: PlacementAsk | null;
  /** By root, what is to be said of each model whose holders are saturated. */
  readonly help: ReadonlyMap<string, CopyHelp>;
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
 */
export function decidePlacement(
  memory: PlacementMemory,
  { isCopying, nowMs, peers, self }: PlacementFacts,
): PlacementLook {
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
  const restMs = askedAtMs === null ? 0 : askedAtMs + COOL_DOWN_MS - nowMs;
  const help = new Map<string, CopyHelp>();
  for (const [root, startMs] of since) {
    const model = self.models.find((one) => one.root === root);
    if (model === undefined) continue;
    const forS = Math.round((nowMs - startMs) / 1000);
    if (restMs > 0) {
      const minutes = Math.ceil(restMs / 60_000);
      help.set(root, {
        state: "resting",
        reason: `A copy was asked for; no other is for ${minutes} min`,
      });
    } else if (isCopying) {
      help.set(root, {
        state: "copying",
        reason: "A copy is under way, and one is made at a time",
      });
    } else if (nowMs - startMs < WINDOW_MS) {
      help.set(root, {
        state: "watching",
        reason:
          `All who have it have let requests wait 10 s and more for ${forS} s; after 60 s an idle member is asked to copy it`,
      });
    } else {
      const [best] = peers.filter((peer) => whyNot(peer, model) === null)
        .toSorted((a, b) => freeMemoryOf(b) - freeMemoryOf(a));
      if (best === undefined) {
        help.set(root, {
          state: "nowhere",
          reason: `No member can take a copy: ${noMember(peers, model)}`,
        });
        continue;
      }
      const waitS = Math.round(waitOf(model.queue) / 1000);
      const reason =
        `"${self.name}" has had requests wait ${waitS} s and more for ${forS} s, and "${best.name}" is idle`;
      help.set(root, { state: "asked", reason });
      return {
        memory: { saturatedSinceMs: new Map(), askedAtMs: nowMs },
        ask: { model: model.model, root, to: best.node, reason },
        help,
      };
    }
  }
  return { memory: kept, ask: null, help };
}

/** Why each of some members can not take a copy; of many the first ones. */
function noMember(peers: readonly PlacedMember[], model: HeldModel): string {
  if (peers.length === 0) return "there is no other";
  const told = peers.slice(0, MOST_TOLD).map((peer) =>
    `"${peer.name}" ${whyNot(peer, model)}`
  );
  const more = peers.length - told.length;
  return told.join(", ") + (more > 0 ? `, and ${more} more` : "");
}

/** Milliseconds that a request which came now would wait. */
function waitOf({ runningMs, slots, waitingMs }: QueueReport): number {
  if (runningMs.length < slots) return 0;
  const work = [...runningMs, ...waitingMs].reduce((sum, ms) => sum + ms, 0);
  return work / Math.max(1, slots);
}

/** Why a member can not hold a model beside what it does, or null where it can. */
function whyNot(
  { isTaking, machine, models, queues, runsModels }: PlacedMember,
  { root, sizeBytes }: HeldModel,
): string | null {
  if (models.some((one) => one.root === root)) return "has it";
  if (!isTaking) return "takes no work";
  if (!runsModels) return "runs no models of its own folder, or is not fit";
  const isIdle = queues.every(({ runningMs, waitingMs }) =>
    runningMs.length + waitingMs.length === 0
  );
  if (!isIdle) return "is at work";
  const { diskFreeBytes, diskTotalBytes, memoryTotalBytes } = machine ?? {};
  if (
    !isKnown(diskFreeBytes) || !isKnown(diskTotalBytes) ||
    !isKnown(memoryTotalBytes)
  ) return "does not tell its memory and disk";
  const cardBytes = machine?.cardMemoryTotalBytes ?? null;
  const roomBytes = memoryTotalBytes + roomOnCards(cardBytes, cardBytes);
  if (roomBytes < sizeBytes * MEMORY_FACTOR) return "has too little memory";
  const keptBytes = Math.min(diskTotalBytes * FREE_SHARE, FREE_BYTES);
  return diskFreeBytes - sizeBytes >= keptBytes
    ? null
    : "has too little room on its disk";
}

function isKnown(bytes: number | null | undefined): bytes is number {
  return typeof bytes === "number";
}

function freeMemoryOf({ machine }: PlacedMember): number {
  const { cardMemoryFreeBytes = null, cardMemoryTotalBytes = null } = machine ??
    {};
  return (machine?.memoryAvailableBytes ?? 0) +
    roomOnCards(cardMemoryTotalBytes, cardMemoryFreeBytes);
}
