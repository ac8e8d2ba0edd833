import type { NodeId } from "./identifier.ts";

/** What is to be known of a pack: a GPU library for llama.cpp that is not in the default install. */
export interface PackView {
  /** What it is asked for by. */
  readonly name: string;
  /** Which cards it is for. */
  readonly cards: string;
  /** What stands of it on this machine. */
  readonly state: "installed" | "available" | "other_machine";
  /** What fetching it takes, in bytes. */
  readonly sizeBytes: number;
}

/** An archive of a pack as it was published, by whose digest it is known everywhere. */
export interface PackArchive {
  /** Subresource integrity: `sha512-` and the digest in base64. */
  readonly integrity: string;
  /** Its size. */
  readonly sizeBytes: number;
}

/** Archives that lie on this machine, for members that want them. */
export interface PackShelf {
  /** Those that are whole. */
  list(): Promise<readonly PackArchive[]>;
  /** Those of packs that are used here and were added before archives were kept: they are gone. */
  unkept(): Promise<readonly PackArchive[]>;
  /**
   * Read a part of one.
   *
   * @param integrity Which.
   * @param offset Where the part begins.
   * @param length Most bytes of it.
   * @returns The bytes, fewer at the end; null where there is no such archive.
   */
  read(
    integrity: string,
    offset: number,
    length: number,
  ): Promise<Uint8Array<ArrayBuffer> | null>;
}

/** A member that answers, as a source of packs. */
export interface PackGiver {
  /** The member. */
  readonly id: NodeId;
  /** Its name. */
  readonly name: string;
  /** Integrities of the archives that it has. */
  readonly held: ReadonlySet<string>;
  /** Integrities of those that it used, and did not keep. */
  readonly unkept: ReadonlySet<string>;
  /**
   * Read an archive, piece by piece as it is taken. Nothing is checked here:
   * whoever takes it holds it against its digest.
   *
   * @param archive Which.
   * @param signal Aborting it ends the stream with the signal's reason.
   * @returns Its bytes; the stream fails with a `Fault` where the member does not give them.
   */
  open(
    archive: PackArchive,
    signal: AbortSignal,
  ): ReadableStream<Uint8Array<ArrayBuffer>>;
}

/** The other members, as packs can be had of them. */
export interface PackAllies {
  /** Members that answer now, with what they have. */
  givers(signal: AbortSignal): Promise<readonly PackGiver[]>;
}

/** A pack with where it can be had besides the registry. */
export interface PackChoice extends PackView {
  /** Names of members that have its archives whole. */
  readonly members: readonly string[];
}

/** What an operator can do about packs through the node that runs. */
export interface PackCare {
  /** Every pack. */
  list(signal: AbortSignal): Promise<readonly PackChoice[]>;
  /**
   * Have a pack of members.
   *
   * @param name Of the pack.
   * @param from Name or id of the member that is to give it, or null for any.
   * @param tell Told how many of its bytes came so far, of how many, and from whom.
   * @param signal Aborting it leaves nothing behind that would be used.
   * @returns The pack, and the name of the member that gave it; null where it was here.
   * @throws {Fault} When there is no such pack, or no member gives it whole.
   */
  add(
    name: string,
    from: string | null,
    tell: (doneBytes: number, totalBytes: number, member: string) => void,
    signal: AbortSignal,
  ): Promise<{ readonly pack: PackView; readonly from: string | null }>;
}
