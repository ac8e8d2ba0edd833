import {
  CAPABILITIES,
  type MachineReading,
  MODEL_FEATURES,
  type NodeId,
  type Offer,
  parseNodeId,
  type QueueReport,
  type WorkReport,
} from "@covey/core/domain";
import { z } from "zod";
import { parseQueueReport } from "./queue_wire.ts";

const MAX_ENGINES = 64;
const MAX_OFFERS = 1024;
const MAX_ENTRIES = 4096;

const ms = z.number().nonnegative();
const rate = z.number().positive();
const bytes = z.number().nonnegative();

const stateSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("cold") }),
  z.object({
    kind: z.literal("loading"),
    remainingMs: ms,
    progress: z.number().min(0).max(1).exactOptional(),
  }),
  z.object({ kind: z.literal("warm"), loadTimeMs: ms.nullable() }),
  z.object({
    kind: z.literal("failed"),
    reason: z.string().max(4096),
    retryInMs: ms,
  }),
]);

const offerSchema = z.object({
  model: z.string().min(1).max(512),
  root: z.string().max(128).nullable(),
  // Words of a newer version are left out; what remains is still on offer.
  capabilities: z.array(z.string()).max(32).transform((all) =>
    CAPABILITIES.filter((known) => all.includes(known))
  ),
  features: z.array(z.string()).max(32).transform((all) =>
    MODEL_FEATURES.filter((known) => all.includes(known))
  ),
  contextLength: z.number().nonnegative(),
  sizeBytes: z.number().nonnegative().nullable(),
  state: stateSchema,
  device: z.string().min(1).max(256),
  queue: z.custom<QueueReport>((value) =>
    parseQueueReport(value) !== undefined
  ),
  rates: z.object({
    prefillTokensPerSecond: rate,
    tpotMs: z.array(ms).min(1).max(1024),
    loadTimeMs: ms,
    observations: z.number().nonnegative(),
    typicalError: z.number().nonnegative(),
    expectedOutputTokens: z.number().nonnegative(),
    overheadMs: ms.exactOptional(),
    byLength: z.object({
      prefill: z.array(rate).max(64),
      decode: z.array(rate).max(64),
    }).exactOptional(),
  }),
  cachedPrompts: z.number().int().nonnegative().exactOptional(),
  isPaid: z.boolean().exactOptional(),
  process: z.string().min(1).max(64).exactOptional(),
  loadedAfterQueue: z.boolean().exactOptional(),
  contextLimit: z.number().nonnegative().exactOptional(),
  memory: z.object({
    weightsBytes: bytes,
    cacheBytes: bytes,
    computeBytes: bytes,
    layers: z.number().int().nonnegative().exactOptional(),
  }).exactOptional(),
  residency: z.object({
    memoryBytes: bytes,
    cardBytes: bytes.exactOptional(),
    expiresInMs: ms.nullable(),
    isPinned: z.boolean(),
    isInUse: z.boolean(),
  }).exactOptional(),
  misfit: z.object({
    reason: z.string().max(1024),
    retryInMs: ms.nullable(),
  }).exactOptional(),
  evicts: z.array(z.object({
    model: z.string().min(1).max(512),
    reloadMs: ms,
    idleMs: ms,
    keepMs: ms.exactOptional(),
    reuseChance: z.number().min(0).max(1).exactOptional(),
  })).max(64).exactOptional(),
});

const clause = z.string().max(512);

const conditionsSchema = z.object({
  ok: z.boolean(),
  reasons: z.array(clause).max(16),
});

// What one version does not know or cannot read is not known, and neutral.
const number = z.number().nullable().catch(null);
const flag = z.boolean().nullable().catch(null);
const machineSchema = z.object(
  {
    temperatureCelsius: number,
    isThrottled: flag,
    isPowerCapped: flag,
    isLowPower: flag,
    isOnBattery: flag,
    batteryShare: number,
    clockShare: number,
    cpuCount: number,
    busyThreads: number,
    ownBusyThreads: number,
    load1: number,
    ownLoad1: number,
    memoryTotalBytes: number,
    memoryAvailableBytes: number,
    memoryPressure: z.enum(["normal", "high", "critical"]).nullable()
      .catch(null),
    diskBusyShare: number,
    diskFreeBytes: number,
    diskTotalBytes: number,
    gpuBusyShare: number,
    foreignGpuProcesses: number,
    cardMemoryTotalBytes: number,
    cardMemoryFreeBytes: number,
  } satisfies Record<keyof MachineReading, z.ZodType>,
);

const reportSchema = z.object({
  engines: z.array(z.object({
    id: z.string().min(1).max(256),
    offers: z.array(z.unknown()).max(MAX_OFFERS).transform(readOffers),
  })).max(MAX_ENGINES),
  dispatchesSeen: z.record(z.string(), z.number().int().nonnegative())
    .transform(readDispatches),
  machine: machineSchema.exactOptional(),
  conditions: conditionsSchema.exactOptional(),
  withheld: clause.exactOptional(),
  inFlight: z.number().int().nonnegative().exactOptional(),
  tier: z.unknown().optional(),
});

const tierSchema = z.union([z.literal(1), z.literal(2), z.literal(3)]);

/**
 * Read what a peer says of its work. An offer this version cannot read is left
 * out, so that nodes of several versions work together during an update.
 *
 * @returns The report, or undefined when it is none.
 */
export function parseWorkReport(value: unknown): WorkReport | undefined {
  const parsed = reportSchema.safeParse(value).data;
  if (parsed === undefined) return undefined;
  const { tier, ...report } = parsed;
  // What a newer version may have beyond these three is not known here.
  const known = tierSchema.safeParse(tier).data;
  return known === undefined ? report : { ...report, tier: known };
}

function readOffers(values: readonly unknown[]): readonly Offer[] {
  return values.flatMap((value) => offerSchema.safeParse(value).data ?? []);
}

function readDispatches(
  record: Readonly<Record<string, number>>,
): Record<NodeId, number> {
  const read: Record<NodeId, number> = {};
  for (const [text, highest] of Object.entries(record).slice(0, MAX_ENTRIES)) {
    const entry = parseNodeId(text);
    if (entry !== undefined) read[entry] = highest;
  }
  return read;
}
