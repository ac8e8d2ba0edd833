import { Fault } from "./fault.ts";

/** Why a pull stopped that is to go on later: what members gave of it stays. */
export class PullPaused extends Fault {
  /**
   * Make the reason.
   *
   * @param message How to go on, for whoever watches the pull.
   */
  constructor(message: string) {
    super("conflict", message);
  }
}

/** What a pull is about to fetch, such that members can tell whether theirs is the same. */
export interface PullWant {
  /** The pull here, by which what it paused can be forgotten. */
  readonly pull: string;
  /** The same at every member that pulls the same bytes. */
  readonly key: string;
  /** Name the model is to have here. */
  readonly model: string;
  /** Size of its files in bytes; null where the source does not say. */
  readonly totalBytes: number | null;
  /** SHA-256 of its files as the source publishes them, first part first; null where it publishes none. */
  readonly sha256s: readonly (string | null)[];
  /** Most bytes a second, or null for as many as go. */
  readonly maxBytesPerSecond: number | null;
}

/** What members do for a pull just now. */
export type AllyProgress =
  /** A member pulls the same: its copy is awaited, instead of fetching it twice. */
  | {
    readonly kind: "waiting";
    /** Its name. */
    readonly member: string;
    /** What it has so far. */
    readonly doneBytes: number;
    /** Null while it is not known. */
    readonly totalBytes: number | null;
  }
  | {
    readonly kind: "copying";
    /** Names of members that give bytes now. */
    readonly members: readonly string[];
    /** What is here so far. */
    readonly doneBytes: number;
    /** What there is. */
    readonly totalBytes: number;
    /** Over the last seconds. */
    readonly bytesPerSecond: number;
  };

/** The right to fetch what no other member fetches, until it is disposed of. */
export interface PullLease extends Disposable {
  /**
   * Let members that wait know how far it is.
   *
   * @param doneBytes What is here so far.
   * @param totalBytes Null while it is not known.
   */
  tell(doneBytes: number, totalBytes: number | null): void;
}

/** How a pull goes on. */
export type PullTurn =
  /** The model came from members and is offered here. */
  | {
    readonly kind: "copied";
    /** Name it is offered under. */
    readonly model: string;
    /** Names of the members that gave it. */
    readonly from: readonly string[];
  }
  /** This node is the one that fetches it. */
  | { readonly kind: "fetch"; readonly lease: PullLease };

/** The other members, as a pull asks them first. */
export interface PullAllies {
  /**
   * Get a model from members that have it, wait for one that pulls it, or be
   * the one that fetches it.
   *
   * @param want What is wanted.
   * @param tell Called with each step of progress.
   * @param signal Aborting it gives up with the signal's reason; a copy that was begun is paused with `PullPaused`, else it ends.
   * @throws {Fault} When an operator cancelled the copy.
   */
  turn(
    want: PullWant,
    tell: (progress: AllyProgress) => void,
    signal: AbortSignal,
  ): Promise<PullTurn>;
  /**
   * Drop what members gave to a pull that was paused, and then cancelled.
   *
   * @param pull The pull here.
   */
  forget?(pull: string): void;
}
