import type { MadeWeights } from "@covey/core/domain";
import type { Clock } from "@covey/core/platform";
import type { Chunk } from "./chunk_plan.ts";
import { NotHeldError } from "./copy_error.ts";
import type { ChunkSource } from "./gather.ts";

/** What a source that makes its chunks needs. */
export interface MadeSourceOptions {
  readonly name: string;
  readonly weights: MadeWeights;
  /** Place of the file that is made in the manifest. */
  readonly file: number;
  readonly clock: Clock;
  /** Told once when nothing more can be made. */
  onFailure(error: unknown): void;
}

/**
 * This machine as a source of a derived file's chunks, made from the original.
 * One at a time: so no more than one is ever wrong before it is left.
 */
export class MadeSource implements ChunkSource {
  readonly name: string;
  readonly #options: MadeSourceOptions;
  #turn: Promise<unknown> = Promise.resolve();
  #isLeft = false;
  #madeChunks = 0;
  #madeBytes = 0;
  #spentMs = 0;

  constructor(options: MadeSourceOptions) {
    this.name = options.name;
    this.#options = options;
  }

  /** What it has made, and the time that this took in milliseconds. */
  get made() {
    return {
      chunks: this.#madeChunks,
      bytes: this.#madeBytes,
      spentMs: this.#spentMs,
    };
  }

  has({ file }: Chunk): boolean {
    return !this.#isLeft && file === this.#options.file;
  }

  /** Make nothing more. */
  leave(): void {
    this.#isLeft = true;
  }

  fetch(
    chunk: Chunk,
    into: Uint8Array<ArrayBuffer>,
    signal: AbortSignal,
  ): Promise<number> {
    const made = this.#turn.then(() => this.#make(chunk, into, signal));
    // Its own caller hears of a failure.
    this.#turn = made.catch(() => {});
    return made;
  }

  /** Resolves once nothing is being made any more. */
  async idle(): Promise<void> {
    await this.#turn;
  }

  async #make(
    { length, offset }: Chunk,
    into: Uint8Array<ArrayBuffer>,
    signal: AbortSignal,
  ): Promise<number> {
    const { clock, onFailure, weights } = this.#options;
    signal.throwIfAborted();
    if (this.#isLeft) throw new NotHeldError("Nothing more is made here");
    const startMs = clock.monotonic();
    let count: number;
    try {
      count = await weights.readInto(offset, into.subarray(0, length));
    } catch (error) {
      this.leave();
      onFailure(error);
      throw error;
    }
    this.#spentMs += clock.monotonic() - startMs;
    this.#madeChunks++;
    this.#madeBytes += count;
    return count;
  }
}
