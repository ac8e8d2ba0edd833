import type {
  CardRoom,
  Log,
  ModelInventory,
  NodeId,
} from "../../domain/mod.ts";
import type { Clock, Entropy, Files, Processes } from "../../platform/mod.ts";
import type { HttpClient } from "../http_client.ts";

/** What an embedded engine is built from. */
export interface EmbeddedEngineOptions {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly files: Files;
  readonly processes: Processes;
  readonly log: Log;
  readonly node: NodeId;
  readonly nodeName: string;
  /** What may be loaded. */
  readonly models: ModelInventory;
  /** Threads of an engine process, or null for the processor's cores. */
  readonly threads: number | null;
  /** Parallel sequences of an engine process. */
  readonly slots: number;
  /** Tokens of context per slot, or null for the model's own, at most 32,768. */
  readonly contextLength: number | null;
  /** Names of models that stay in memory once they are there; absent for none. */
  readonly pinned?: readonly string[];
  /** Idle time before a model is unloaded, unless a request says otherwise; `Infinity` for never. */
  readonly keepAliveMs: number;
  /** Whether a GPU is used where there is one. */
  readonly gpu: "auto" | "off";
  /** llama.cpp's own server, which computes instead of this program; absent for none. */
  readonly serverProgram?: string;
  /** Where GPU libraries lie that were added; absent where none can be. */
  readonly packsDir?: string;
  /** Everything an engine process may know of the environment: PATH, HOME and their like. */
  readonly env: Readonly<Record<string, string>>;
  /** Where the folder for sockets is made, if the path is short enough for one. */
  readonly runtimeDir: string;
  /** Where it is made else. */
  readonly temporaryDir: string;
  /** Memory that a new model may take, in bytes. */
  readonly freeMemoryBytes: () => number | Promise<number>;
  /** All memory that there is, in bytes, or null where that is not known. */
  readonly totalMemoryBytes?: () => number | null;
  /** Memory that could be taken, in bytes, as last read; null where that is not known. Cheap: asked for every view. */
  readonly availableMemoryBytes?: () => number | null;
  /** File pages that a process has mapped, in bytes: the system counts them as free. Absent where nobody can say. */
  readonly mappedFileBytes?: (pid: number) => Promise<number>;
  /** Whether cards of this machine compute in its own memory, as Apple's do; absent for no. */
  readonly sharesMemoryWithCard?: boolean;
  /** Memory of cards with their own on which models compute, as last seen; null where nothing tells. Cheap: asked for every view. */
  readonly cardMemory?: () => CardRoom | null;
  /** Has that seen anew. */
  readonly lookAtCards?: () => Promise<void>;
  /** Counts cores on the first load; `countPhysicalCores` unless given. */
  readonly countCores?: () => Promise<number>;
  /** Makes the client of a socket; `createUnixHttpClient` unless given. */
  readonly createClient?: (socketPath: string, clock: Clock) => HttpClient;
}
