/**
 * What is known of the machine a node runs on. Null is "not known", which is
 * neutral: nothing may take it for zero, cool, idle or plugged in.
 */
export interface MachineReading {
  /** Of the processor, in degrees Celsius. */
  readonly temperatureCelsius: number | null;
  /** Whether heat slows the processor or card now. */
  readonly isThrottled: boolean | null;
  /** Whether clocks or watts are held below what the hardware could do. */
  readonly isPowerCapped: boolean | null;
  /** Whether the system saves power at the cost of speed. */
  readonly isLowPower: boolean | null;
  /** Whether it runs on battery. */
  readonly isOnBattery: boolean | null;
  /** Charge of the battery, 0 to 1. */
  readonly batteryShare: number | null;
  /** Clock of the fastest core over the highest it can have, 0 to 1. */
  readonly clockShare: number | null;
  /** Logical processors. */
  readonly cpuCount: number | null;
  /** Processors busy with anything, averaged over some 10 s. */
  readonly busyThreads: number | null;
  /** Those of them that this node's own engines keep busy. */
  readonly ownBusyThreads: number | null;
  /** The system's 1-minute load average. */
  readonly load1: number | null;
  /** The part of it that is this node's own engines, averaged over a minute. */
  readonly ownLoad1: number | null;
  /** Memory this process may use at all: the machine's, or its container's. */
  readonly memoryTotalBytes: number | null;
  /** The part of it that could still be taken. */
  readonly memoryAvailableBytes: number | null;
  /** How short of memory it is. */
  readonly memoryPressure: "normal" | "high" | "critical" | null;
  /** Share of time that the disk of the models folder is busy, 0 to 1. */
  readonly diskBusyShare: number | null;
  /** Of the file system that holds the models folder. */
  readonly diskFreeBytes: number | null;
  /** Size of the models folder's disk. */
  readonly diskTotalBytes: number | null;
  /** Share of time that the busiest card works for anybody, 0 to 1. */
  readonly gpuBusyShare: number | null;
  /** Processes of others that compute on a card. */
  readonly foreignGpuProcesses: number | null;
  /** Memory of the cards that this node's engines compute on and that have their own, together; 0 for none. */
  readonly cardMemoryTotalBytes: number | null;
  /** The part of it that nobody holds. */
  readonly cardMemoryFreeBytes: number | null;
}

/** A machine of which nothing is known. */
export const UNKNOWN_MACHINE: MachineReading = Object.freeze({
  temperatureCelsius: null,
  isThrottled: null,
  isPowerCapped: null,
  isLowPower: null,
  isOnBattery: null,
  batteryShare: null,
  clockShare: null,
  cpuCount: null,
  busyThreads: null,
  ownBusyThreads: null,
  load1: null,
  ownLoad1: null,
  memoryTotalBytes: null,
  memoryAvailableBytes: null,
  memoryPressure: null,
  diskBusyShare: null,
  diskFreeBytes: null,
  diskTotalBytes: null,
  gpuBusyShare: null,
  foreignGpuProcesses: null,
  cardMemoryTotalBytes: null,
  cardMemoryFreeBytes: null,
});

/** Whether the machine is fit for work (design.md 6, health): failing them only degrades. */
export interface Conditions {
  /** Whether nothing is wrong. */
  readonly ok: boolean;
  /** Clauses that follow a member's name, for example `has 3 % of its disk left`. */
  readonly reasons: readonly string[];
}

/** Weight class of a machine: 1 carries heavy work first, 3 is a small board. */
export type Tier = 1 | 2 | 3;

/** Whom this node's engines serve now. */
export type ServedCallers =
  | { readonly kind: "everyone" }
  /** Clients that called this node, and no peers. */
  | { readonly kind: "own_clients"; readonly reason: string }
  | { readonly kind: "nobody"; readonly reason: string };

/** How the machine stands, for those who decide by it. Cheap: asked at every placement. */
export interface Machine {
  /** What the machine is doing. */
  reading(): MachineReading;
  /** What is wrong with it, for its health. */
  conditions(): Conditions;
  /** Whose requests its engines serve. */
  served(): ServedCallers;
  /** Its weight class, null while it is not known; absent where nobody reckons it. */
  tier?(): Tier | null;
}

/** What the machine's state does to the speed of engines that compute on it. */
export interface SpeedPrior {
  /** Expected speed now over speed when nothing is in the way: above 0, at most 1. */
  factor(): number;
  /**
   * Learn how much the conditions that hold now slow down.
   *
   * @param relativeSpeed Observed speed over the speed learned while nothing was in the way.
   */
  observe(relativeSpeed: number): void;
}
