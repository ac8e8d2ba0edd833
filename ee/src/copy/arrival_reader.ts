import { CHUNK_BYTES } from "@covey/core/domain";
import { WireError } from "../link/wire_error.ts";
import {
  type Arrival,
  type ArrivalPage,
  emptyHash,
  extendHash,
} from "./arrival_page.ts";

/** What this node knows of a pull, for comparison. */
export interface OwnSizes {
  /** Of the pull's files here, in bytes. */
  readonly sizes: readonly number[];
  /** How many of them are the model. */
  readonly weights: number;
}

/**
 * Follows a member's list of what has come to it. Nothing of a page is taken
 * that does not go on where the last one ended, or whose hash is another.
 */
export class ArrivalReader {
  readonly #own: OwnSizes;
  #run: string | null = null;
  #count = 0;
  #hash = "";
  #sizes: readonly number[] = [];
  #digests = new Map<string, string>();

  /** @param own What is pulled here. */
  constructor(own: OwnSizes) {
    this.#own = own;
  }

  /** The list that is followed, or null before its first page. */
  get run(): string | null {
    return this.#run;
  }

  /** How many arrivals are known. */
  get count(): number {
    return this.#count;
  }

  /** How many files the member's list is about. */
  get files(): number {
    return this.#sizes.length;
  }

  /** SHA-256 of a chunk that lies there, or undefined. */
  digestOf(file: number, position: number): string | undefined {
    return this.#digests.get(`${file} ${position}`);
  }

  /** Forget all: the list is read from its beginning. */
  reset(): void {
    this.#run = null;
    this.#count = 0;
    this.#sizes = [];
    this.#digests = new Map();
  }

  /**
   * Take notice of a page.
   *
   * @throws {WireError} When it does not follow, contradicts itself, or is of another model; all is forgotten then.
   */
  take(page: ArrivalPage): void {
    try {
      if (page.run !== this.#run) this.#begin(page);
      if (page.from !== this.#count) {
        throw new WireError("What has come of a pull has a gap");
      }
      let hash = this.#hash;
      const added = new Map<string, string>();
      for (const arrival of page.arrivals) {
        const key = this.#keyOf(arrival);
        if (this.#digests.has(key) || added.has(key)) {
          throw new WireError("What has come of a pull came twice");
        }
        added.set(key, arrival.digest);
        hash = extendHash(hash, arrival);
      }
      if (hash !== page.hash) {
        throw new WireError("What has come of a pull contradicts its hash");
      }
      this.#hash = hash;
      this.#count += page.arrivals.length;
      for (const [key, digest] of added) this.#digests.set(key, digest);
    } catch (error) {
      this.reset();
      throw error;
    }
  }

  #begin({ from, run, sizes }: ArrivalPage): void {
    this.reset();
    const { sizes: own, weights } = this.#own;
    const isSame = sizes.length >= weights &&
      sizes.every((size, at) => at >= own.length || size === own[at]);
    if (from !== 0 || !isSame) {
      throw new WireError("What has come of a pull is of another model");
    }
    this.#run = run;
    this.#sizes = sizes;
    this.#hash = emptyHash(run, sizes);
  }

  #keyOf({ file, position }: Arrival): string {
    const size = this.#sizes[file] ?? 0;
    if (position >= Math.ceil(size / CHUNK_BYTES)) {
      throw new WireError("What has come of a pull lies outside of it");
    }
    return `${file} ${position}`;
  }
}
