import type { Clock } from "./clock.ts";
import type { Entropy } from "./entropy.ts";
import type { Files } from "./files.ts";
import type { Processes } from "./process.ts";

/** Everything of the outside world that rooms are handed; built once at the edge. */
export interface Platform {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly files: Files;
  readonly processes: Processes;
}
