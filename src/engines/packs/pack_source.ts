import type { PackPackage } from "./pack_table.ts";

/** Where archives of packs come from. None is trusted: each is held against its digest. */
export interface PackSource {
  /** What to do where it gives nothing, or something else; a sentence without its full stop. */
  readonly remedy: string;
  /**
   * Begin to fetch an archive.
   *
   * @throws {Fault} `hub_failed` or `link_failed` when the source does not give it.
   */
  open(
    archive: PackPackage,
    signal: AbortSignal,
  ): Promise<ReadableStream<Uint8Array<ArrayBuffer>>>;
}
