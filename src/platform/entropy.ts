/** The only source of chance. */
export interface Entropy {
  /** Bytes fit for keys. */
  bytes(count: number): Uint8Array<ArrayBuffer>;
  /** A number in [0, 1), for jitter and ties. */
  float(): number;
  /** A random UUID, lower case. */
  uuid(): string;
}

/** Chance from the operating system. */
export function createSystemEntropy(): Entropy {
  return {
    bytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
    float: () => Math.random(),
    uuid: () => crypto.randomUUID(),
  };
}

/**
 * Repeatable chance for tests and simulations; never for keys in earnest.
 *
 * @param seed Same seed, same sequence (mulberry32).
 * @returns The source.
 */
export function createSeededEntropy(seed: number): Entropy {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }
  function bytes(count: number): Uint8Array<ArrayBuffer> {
    const filled = new Uint8Array(count);
    for (let at = 0; at < count; at++) filled[at] = next() & 0xff;
    return filled;
  }
  return {
    bytes,
    float: () => next() / 2 ** 32,
    uuid() {
      const raw = bytes(16);
      raw[6] = ((raw[6] ?? 0) & 0x0f) | 0x40;
      raw[8] = ((raw[8] ?? 0) & 0x3f) | 0x80;
      const hex = raw.toHex();
      return [
        hex.slice(0, 8),
        hex.slice(8, 12),
        hex.slice(12, 16),
        hex.slice(16, 20),
        hex.slice(20),
      ].join("-");
    },
  };
}
