import type { Clock } from "./clock.ts";
import type { Entropy } from "./entropy.ts";
import type { Files } from "./files.ts";
import type { Processes } from "./process.ts";

/** Everything of the outside world that rooms are handed; built once at the edge. */
export interface Platform {
  /** Time. */
  readonly clock: Clock;
  /** Chance. */
  readonly entropy: Entropy;
  /** The file system. */
  readonly files: Files;
  /** Children. */
  readonly processes: Processes;
}
