import { Fault } from "./fault.ts";
import type { FileOrigin } from "./manifest.ts";
import type { PullParts } from "./pull_parts.ts";

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
  /** Its files as far as they have come, for members to read and to fill; null where their sizes are not known. */
  readonly parts: PullParts | null;
  /** Whether a member's finished model alone says which bytes are right: the source publishes no digest, or those that came do not match it. */
  readonly needsRoot: boolean;
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
  /** Bytes of a pull that is not at its end yet, or of a model: `relaying` goes into the pull's own files. */
  | {
    readonly kind: "copying" | "relaying";
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
  /** Members gave every byte while one of them was fetching: whoever pulls checks them before they count. */
  | {
    readonly kind: "relayed";
    /** Root of the finished model whose digests they have; null while there is none. */
    readonly root: string | null;
    /** Names of the members that gave bytes. */
    readonly from: readonly string[];
    /** Held until the model is offered, so that others get bytes meanwhile. */
    readonly lease: PullLease;
  }
  /** This node is the one that fetches it. */
  | { readonly kind: "fetch"; readonly lease: PullLease };

/** A model that members have from one source. */
export interface PullOffer {
  /** Name it has at one of them. */
  readonly model: string;
  /** Identifies its bytes. */
  readonly root: string;
  /** Size of all its files. */
  readonly sizeBytes: number;
  /** First part first. */
  readonly files: readonly {
    /** Where it is from, as its first member noted it. */
    readonly origin: FileOrigin;
    /** Its size. */
    readonly sizeBytes: number;
  }[];
  /** How many of them have it. */
  readonly members: number;
}

/** A model that members have, for a pull whose source can not be reached. */
export interface PullCopyWant
  extends Pick<PullWant, "pull" | "model" | "maxBytesPerSecond"> {
  /** Identifies its bytes. */
  readonly root: string;
  /** Size of all its files. */
  readonly sizeBytes: number;
}

/** The other members, as a pull asks them first. */
export interface PullAllies {
  /**
   * Get a model from members that have it, what has come of it from those that
   * pull it, or be the one that fetches it.
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
   * Ask members what they have from a source that can not be reached.
   *
   * @param source Repository of a hub, or a URL without its query.
   * @param signal Aborting it ends the question with the signal's reason.
   */
  offers?(source: string, signal: AbortSignal): Promise<readonly PullOffer[]>;
  /**
   * Copy a model that members have.
   *
   * @param want Which one.
   * @param tell Called with each step of progress.
   * @param signal As with `turn`.
   * @returns Null where none of them gives it.
   * @throws {Fault} When an operator cancelled the copy.
   */
  copy?(
    want: PullCopyWant,
    tell: (progress: AllyProgress) => void,
    signal: AbortSignal,
  ): Promise<PullTurn & { readonly kind: "copied" } | null>;
  /**
   * Drop what members gave to a pull that was paused, and then cancelled.
   *
   * @param pull The pull here.
   */
  forget?(pull: string): void;
}
