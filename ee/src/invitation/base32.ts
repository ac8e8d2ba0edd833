/** Crockford's base 32: no letter in it is taken for another when read aloud. */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
/** What people write instead. */
const TAKEN_FOR: Readonly<Record<string, string>> = { o: "0", i: "1", l: "1" };

/**
 * Write bytes in 5-bit letters.
 *
 * @param bytes Any bytes.
 * @returns Lower case; the last letter's spare bits are zero.
 */
export function encodeBase32(bytes: Uint8Array): string {
  let text = "";
  let held = 0;
  let bits = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET.charAt((held >> bits) & 31);
    }
    held &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + ALPHABET.charAt((held << (5 - bits)) & 31);
}

/**
 * Read what `encodeBase32` wrote, in either letter case.
 *
 * @param text Letters alone.
 * @returns The bytes, or undefined where a letter is none or spare bits are set.
 */
export function decodeBase32(
  text: string,
): Uint8Array<ArrayBuffer> | undefined {
  const bytes = new Uint8Array(Math.floor(text.length * 5 / 8));
  let held = 0;
  let bits = 0;
  let at = 0;
  for (const letter of text.toLowerCase()) {
    const value = ALPHABET.indexOf(TAKEN_FOR[letter] ?? letter);
    if (value < 0) return undefined;
    held = (held << 5) | value;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes[at++] = held >> bits;
    held &= (1 << bits) - 1;
  }
  return bits < 5 && held === 0 ? bytes : undefined;
}
