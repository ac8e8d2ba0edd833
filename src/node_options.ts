import type { NodeConfig } from "./config/mod.ts";
import type { ClusterCode } from "./cluster_slot.ts";
import type { Log } from "./domain/mod.ts";
import type { Platform } from "./platform/mod.ts";

/** What a node is made of besides its configuration. */
export interface NodeOptions {
  /** What the operator said. */
  readonly config: NodeConfig;
  /** The outside world. */
  readonly platform: Platform;
  /** Where it logs. */
  readonly log: Log;
  /** Version of the program. */
  readonly version: string;
  /** Variables that engine processes may see; nothing else reaches them. */
  readonly engineEnv: Readonly<Record<string, string>>;
  /** Variables that tell where other programs keep models; those of engines unless given. */
  readonly importEnv?: Readonly<Record<string, string>>;
  /** Variables that programs of the system may see which the cluster starts, as ssh. */
  readonly toolEnv?: Readonly<Record<string, string>>;
  /** Folder for temporary files of this machine. */
  readonly temporaryDir: string;
  /** Memory that a new model could use, in bytes. */
  freeMemoryBytes(): number;
  /** The operating system, for the sensors. */
  readonly operatingSystem: "linux" | "darwin" | "other";
  /** Number of the user that this process runs as, for messages of what is denied to it. */
  readonly userId?: number;
  /** Resident memory of this process, in bytes, for the metrics. */
  residentBytes(): number;
  /** Adds the cluster; without it a configured secret stops the start. */
  readonly clusterCode?: ClusterCode;
}
