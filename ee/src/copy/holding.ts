import type { ModelManifest } from "@covey/core/domain";
import type { Chunk } from "./chunk_plan.ts";

/** A model that lies here, whole or as far as it has come, ready to be sent. */
export interface Holding extends HeldChunks {
  readonly manifest: ModelManifest;
  /** Which chunks are here, as `ChunkMap.toHex`; null for all. */
  held(): string | null;
}

/** Chunks that lie here. */
export interface HeldChunks {
  /** Whether one is here. */
  has(chunk: Chunk): boolean;
  /**
   * Read one, as it lies on disk.
   *
   * @param room Memory for a chunk that may be used for it.
   * @returns Null where it is gone.
   */
  read(
    chunk: Chunk,
    room: Uint8Array<ArrayBuffer>,
  ): Promise<Uint8Array<ArrayBuffer> | null>;
}

/** Where holdings are found by root; null where there is none. */
export type FindHolding = (root: string) => Promise<Holding | null>;
