/**
 * The outside world as ports (clock, chance, files, processes), their Deno
 * adapters, and the in-memory ones that tests use.
 *
 * @module
 */
export { boundFetch } from "./bound_fetch.ts";
export type { Clock, Deadline } from "./clock.ts";
export { createDenoFiles } from "./deno_files.ts";
export { createDenoProcesses } from "./deno_processes.ts";
export { mappedFileBytes } from "./mapped_files.ts";
export { FEWEST_DESCRIPTORS, readDescriptorLimit } from "./descriptor_limit.ts";
export {
  createSeededEntropy,
  createSystemEntropy,
  type Entropy,
} from "./entropy.ts";
export {
  explainDenial,
  FileError,
  type FileFact,
  type FileProblem,
  type Files,
  type FileStat,
  type OpenFile,
  type WritableFile,
} from "./files.ts";
export { ifThere } from "./if_there.ts";
export { ManualClock } from "./manual_clock.ts";
export { MemoryFiles } from "./memory_files.ts";
export { isOwnNetwork, noProxyFor } from "./no_proxy.ts";
export { orAborted } from "./or_aborted.ts";
export type { Platform } from "./platform.ts";
export type { Child, ExitStatus, Processes, SpawnOptions } from "./process.ts";
export { createSystemClock } from "./system_clock.ts";
export { type TrackedProcesses, trackProcesses } from "./tracked_processes.ts";
