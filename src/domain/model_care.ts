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
