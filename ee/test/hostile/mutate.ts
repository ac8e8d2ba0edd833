import type { Entropy } from "@covey/core/platform";

/** Bytes at which parsers like to trip: ends, signs, brackets, DNS pointers. */
const SPITEFUL = [0, 1, 0x22, 0x2d, 0x5b, 0x5c, 0x7b, 0x7f, 0xc0, 0xc1, 0xff];

/**
 * Spoil a message as an attacker or a bad cable would: a few of flips, cuts,
 * insertions, repetitions and pieces of another message.
 *
 * @param corpus Sound messages.
 * @param entropy Where chance comes from.
 * @returns New bytes; in one of eight cases noise that no message began.
 */
export function mutate(
  corpus: readonly Uint8Array[],
  entropy: Entropy,
): Uint8Array<ArrayBuffer> {
  const below = (limit: number) => Math.floor(entropy.float() * limit);
  const pick = () => corpus[below(corpus.length)] ?? new Uint8Array();
  if (below(8) === 0) return Uint8Array.from(entropy.bytes(below(700)));
  let bytes = Uint8Array.from(pick());
  for (let left = 1 + below(6); left > 0; left--) {
    const at = below(bytes.length + 1);
    const length = below(Math.min(64, bytes.length - at + 1));
    switch (below(6)) {
      case 0:
        bytes[at] = (bytes[at] ?? 0) ^ (1 << below(8));
        break;
      case 1:
        bytes[at] = SPITEFUL[below(SPITEFUL.length)] ?? 0;
        break;
      case 2:
        bytes = bytes.slice(0, at);
        break;
      case 3:
        bytes = joined(bytes.slice(0, at), bytes.slice(at + length));
        break;
      case 4: {
        const piece = bytes.slice(at, at + length);
        const times = Array.from({ length: 1 + below(20) }, () => piece);
        bytes = joined(bytes.slice(0, at), ...times, bytes.slice(at));
        break;
      }
      default: {
        const other = pick();
        const from = below(other.length + 1);
        bytes = joined(
          bytes.slice(0, at),
          other.slice(from, from + below(200)),
          bytes.slice(at),
        );
      }
    }
  }
  return bytes;
}

function joined(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, one) => sum + one.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
