/** What a node does about a model of which its holders have too much to do. */
export interface CopyHelp {
  /**
   * `watching` for how long that has been so, `asked` a member for a copy,
   * `failed` in asking, `nowhere` found a member that could hold it, `copying`
   * already, or `resting` after a copy that was asked for.
   */
  readonly state:
    | "watching"
    | "asked"
    | "failed"
    | "nowhere"
    | "copying"
    | "resting";
  /** The same in a sentence, with figures and names. */
  readonly reason: string;
}
