import type { Log, NodeId } from "../../domain/mod.ts";
import type { Clock, Entropy, Files, Processes } from "../../platform/mod.ts";
import type { CommandSettings } from "./command_settings.ts";

/** What a command engine is built from. */
export interface CommandEngineOptions {
  readonly config: CommandSettings;
  readonly processes: Processes;
  readonly files: Files;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  readonly node: NodeId;
  readonly nodeName: string;
  /** Variables that the programs see; nothing else reaches them. */
  readonly env: Readonly<Record<string, string>>;
  /** Where each request gets a private folder, removed after it. */
  readonly temporaryDir: string;
}
