import {
  CHUNK_BYTES,
  type PartPlace,
  type PullParts,
} from "@covey/core/domain";
import { sha256 } from "../../src/copy/gather.ts";

/** The files of a pull in memory. */
export class MemoryParts implements PullParts {
  readonly sizes: readonly number[];
  readonly weights: number;
  readonly sha256s: readonly null[];
  run = 0;
  #arrived: PartPlace[] = [];
  readonly #bytes = new Map<string, Uint8Array<ArrayBuffer>>();

  /** @param sizes Of the files, in bytes. */
  constructor(sizes: readonly number[]) {
    this.sizes = sizes;
    this.weights = sizes.length;
    this.sha256s = sizes.map(() => null);
  }

  get arrived(): readonly PartPlace[] {
    return this.#arrived;
  }

  get arrivedBytes(): number {
    return this.#arrived.reduce((sum, { file, position }) => {
      const rest = (this.sizes[file] ?? 0) - position * CHUNK_BYTES;
      return sum + Math.min(CHUNK_BYTES, rest);
    }, 0);
  }

  has(place: PartPlace): boolean {
    return this.#bytes.has(keyOf(place));
  }

  digest(place: PartPlace): Promise<string | null> {
    const bytes = this.#bytes.get(keyOf(place));
    return Promise.resolve(bytes === undefined ? null : sha256(bytes));
  }

  read(place: PartPlace): Promise<Uint8Array<ArrayBuffer> | null> {
    return Promise.resolve(this.#bytes.get(keyOf(place))?.slice() ?? null);
  }

  write(place: PartPlace, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const { file, position } = place;
    if (!this.has(place)) this.#arrived.push({ file, position });
    this.#bytes.set(keyOf(place), bytes.slice());
    return Promise.resolve();
  }

  drop(places: readonly PartPlace[]): Promise<void> {
    if (places.length === 0) return Promise.resolve();
    this.run++;
    for (const place of places) this.#bytes.delete(keyOf(place));
    this.#arrived = this.#arrived.filter((place) => this.has(place));
    return Promise.resolve();
  }
}

function keyOf({ file, position }: PartPlace): string {
  return `${file} ${position}`;
}
