/** What checking a model against its manifest found. */
export type ModelCheck =
  | { readonly kind: "sound" }
  | {
    readonly kind: "damaged";
    readonly files: readonly {
      readonly name: string;
      readonly problem: string;
    }[];
  };

/** Files of a model that did not come whole. */
export interface PartialFiles {
  /** Their folder, from the models folder. */
  readonly path: string;
  /** What brings them. */
  readonly of: "pull" | "copy" | "conversion";
  /** What they have by now. */
  readonly sizeBytes: number;
  /** Time since one of them was written, in milliseconds; null where nothing came yet. */
  readonly idleMs: number | null;
}

/** What an operator does with models that lie here. */
export interface ModelCare {
  /**
   * Read a model again and compare it with its manifest.
   *
   * @param model Name it is offered under.
   * @param tell Called now and then with the bytes done.
   * @param signal Aborting it ends the work.
   * @throws {Fault} When there is no such model, it has no manifest yet, or can not be read.
   */
  verify(
    model: string,
    tell: (doneBytes: number) => void,
    signal: AbortSignal,
  ): Promise<ModelCheck>;
  /**
   * Files of models that did not come whole: of pulls and copies that run or
   * are paused, and what others left, which goes after a week. Absent where
   * nobody looks.
   *
   * @throws {Fault} When the folder can not be read.
   */
  partials?(): Promise<readonly PartialFiles[]>;
  /**
   * Remove a model's files.
   *
   * @param model Name it is offered under.
   * @throws {Fault} When there is no such model, an engine computes with it, or the folder can not be changed.
   */
  remove(model: string): Promise<void>;
  /**
   * Give a model a second name for the same bytes. Each name can be removed for
   * itself; nothing happens where it has that name already.
   *
   * @param model Name it is offered under.
   * @param name Its other name.
   * @throws {Fault} When there is no such model, the name is another one's or none, or the folder can not be changed.
   */
  alias(model: string, name: string): Promise<void>;
}
