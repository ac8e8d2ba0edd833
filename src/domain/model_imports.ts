/** What became of a folder that was taken over. */
export interface ImportOutcome {
  /** Models that are offered now. */
  readonly imported: readonly {
    readonly model: string;
    /** Whether the bytes are shared with the folder, instead of being here twice. */
    readonly shared: boolean;
  }[];
  /** Models that were left where they are. */
  readonly skipped: readonly {
    readonly model: string;
    readonly reason: string;
  }[];
  /** Programs whose folders were found, where no folder was named. */
  readonly programs?: readonly string[];
}

/** Taking models over from a folder of another program. */
export interface ModelImports {
  /**
   * Take over what a folder holds: the store of Ollama, the cache of Hugging
   * Face, the folder of LM Studio, or plain files. The folder stays as it is.
   *
   * @param folder An absolute path on this machine.
   * @param signal Aborting it ends the work after the file at hand.
   * @throws {Fault} When the folder can not be read, or the models folder not be written.
   */
  importFolder(folder: string, signal: AbortSignal): Promise<ImportOutcome>;
  /**
   * Take over what lies where other programs usually keep models. A folder
   * that can not be read is left out, and said to be.
   *
   * @param signal Aborting it ends the work after the file at hand.
   * @throws {Fault} When the models folder can not be written.
   */
  importFound(signal: AbortSignal): Promise<ImportOutcome>;
}
