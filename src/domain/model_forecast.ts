import type { MemoryNeed } from "./memory_fit.ts";
import type { MemoryRoom } from "./memory_split.ts";
import type { PullRequest } from "./model_pulls.ts";

/** What a model would take that is nowhere yet, by its header at its source. */
export interface ModelForecast {
  /** Name it would have. */
  readonly model: string;
  /** For example `Q4_K_M`; null where the header does not say. */
  readonly quantisation: string | null;
  /** Size of all its files, which is what a disk needs. */
  readonly sizeBytes: number;
  /** Bytes that were read to know. */
  readonly readBytes: number;
  /**
   * Say what it would be loaded with on a machine.
   *
   * @param total All memory of the machine, or null where nobody knows.
   */
  reckon(total: MemoryRoom | null): {
    /** Tokens of a slot. */
    readonly contextLength: number;
    readonly slots: number;
    readonly memory: MemoryNeed;
  };
}

/** Tells what models would take before they are pulled. */
export interface ModelForecasts {
  /**
   * Read a model's header at its source: no more of it than that.
   *
   * @param request What would be pulled.
   * @param signal Aborting it ends the look.
   * @throws {Fault} When there is no such model, or it can not be read.
   */
  forecast(request: PullRequest, signal: AbortSignal): Promise<ModelForecast>;
}
