/** Which chunks of a model are here. One writer: the copy that fetches them. */
export class ChunkMap {
  readonly size: number;
  readonly #held: Uint8Array<ArrayBuffer>;
  #count = 0;

  /** @param size How many chunks there are. */
  constructor(size: number) {
    this.size = size;
    this.#held = new Uint8Array(size);
  }

  /** How many are here. */
  get count(): number {
    return this.#count;
  }

  /** Whether all are here. */
  get isComplete(): boolean {
    return this.#count === this.size;
  }

  /** Whether one is here. */
  has(index: number): boolean {
    return this.#held[index] === 1;
  }

  /** Note that one has come and was found sound. */
  add(index: number): void {
    if (index < 0 || index >= this.size || this.has(index)) return;
    this.#held[index] = 1;
    this.#count++;
  }

  /** One bit a chunk, lowest first, in hexadecimal. */
  toHex(): string {
    const bits = new Uint8Array(Math.ceil(this.size / 8));
    for (let index = 0; index < this.size; index++) {
      if (!this.has(index)) continue;
      bits[index >> 3] = (bits[index >> 3] ?? 0) | 1 << (index & 7);
    }
    return bits.toHex();
  }

  /**
   * Read what `toHex` wrote.
   *
   * @param hex Its text, from a peer: not trusted.
   * @param size How many chunks there are.
   * @returns The map, or undefined when the text has another form or length.
   */
  static fromHex(hex: string, size: number): ChunkMap | undefined {
    if (hex.length !== Math.ceil(size / 8) * 2 || !/^[0-9a-f]*$/.test(hex)) {
      return undefined;
    }
    const bits = Uint8Array.fromHex(hex);
    const map = new ChunkMap(size);
    for (let index = 0; index < size; index++) {
      if (((bits[index >> 3] ?? 0) >> (index & 7) & 1) === 1) map.add(index);
    }
    return map;
  }
}
