import type { OpenFile } from "../../platform/mod.ts";

/**
 * Reads a file forward out of an answer that still comes, and keeps no more of
 * it than what may be asked for again: nothing before the last place.
 */
export class ForwardReader implements Pick<OpenFile, "read"> {
  readonly #pieces: AsyncIterator<Uint8Array<ArrayBuffer>>;
  /** Where in the file the kept bytes begin. */
  #keptAt = 0;
  #kept: Uint8Array<ArrayBuffer>[] = [];
  #keptBytes = 0;
  #takenBytes = 0;
  #hasEnded = false;

  /** @param pieces The file from its beginning. */
  constructor(pieces: AsyncIterable<Uint8Array<ArrayBuffer>>) {
    this.#pieces = pieces[Symbol.asyncIterator]();
  }

  /** Bytes that came so far. */
  get takenBytes(): number {
    return this.#takenBytes;
  }

  /** Whether more was asked for than came. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  async read(
    offset: number,
    length: number,
  ): Promise<Uint8Array<ArrayBuffer>> {
    if (offset < this.#keptAt) {
      throw new RangeError("Cannot read backward out of an answer");
    }
    for (;;) {
      this.#forget(offset);
      if (this.#keptAt === offset && this.#keptBytes >= length) break;
      const next = await this.#pieces.next();
      if (next.done === true) {
        this.#hasEnded = true;
        break;
      }
      this.#takenBytes += next.value.length;
      this.#kept.push(next.value);
      this.#keptBytes += next.value.length;
    }
    if (this.#keptAt < offset) return new Uint8Array();
    const whole = new Uint8Array(Math.min(length, this.#keptBytes));
    let at = 0;
    for (const piece of this.#kept) {
      if (at >= whole.length) break;
      const part = piece.subarray(0, whole.length - at);
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }

  /** Let go what lies before a place. */
  #forget(offset: number): void {
    for (;;) {
      const [first] = this.#kept;
      const before = Math.min(offset - this.#keptAt, first?.length ?? 0);
      if (first === undefined || before === 0) return;
      this.#keptAt += before;
      this.#keptBytes -= before;
      if (before === first.length) this.#kept.shift();
      else this.#kept[0] = first.subarray(before);
    }
  }
}
