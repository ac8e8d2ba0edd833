import type { MachineReading } from "../domain/mod.ts";
import type { GpuMaker } from "./seen_gpus.ts";

/** The part of a reading that one sensor tells; what it leaves out or null is not known. */
export type Facts = Partial<MachineReading>;

/** One source of facts about the machine. */
export interface Sensor {
  /** Names it where it is looked for in vain. */
  readonly name: string;
  /** `fast`: a few reads of /proc or /sys; `slow`: more, or a process; `rare`: for health alone. */
  readonly pace: "fast" | "slow" | "rare";
  /**
   * Look once.
   *
   * @param signal Aborted when the node stops.
   * @returns What was seen, or null where this machine has no such source.
   */
  sample(signal: AbortSignal): Promise<Facts | null>;
}

/** The most of /proc, /sys and small programs that a sensor may touch. */
export interface MachineReader {
  /** Text of a file, or null when it can not be read. */
  text(path: string): Promise<string | null>;
  /** Names in a folder; none when it can not be read. */
  names(folder: string): Promise<readonly string[]>;
  /** Device number of the file system that holds a path, or null. */
  device(path: string): Promise<number | null>;
  /**
   * What a program printed, or null when it is not there, failed, printed too
   * much or took too long.
   */
  run(command: readonly string[], signal: AbortSignal): Promise<string | null>;
}

/** What some sensors need besides the reader. */
export interface SensorNeeds {
  readonly modelsDir: string;
  /** Process ids of this node's engines. */
  ownPids(): readonly number[];
  /** Whether this node's engines compute on a maker's cards. */
  computesOn(maker: GpuMaker): boolean;
  /** Monotonic time. */
  nowMs(): number;
}
