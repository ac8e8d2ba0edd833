import type { Entropy } from "@covey/core/platform";

const DIGITS = 8;
const CODES = 10 ** DIGITS;

/**
 * Draw a join code.
 *
 * @param entropy Where from.
 * @returns 8 digits, all equally likely.
 */
export function drawJoinCode(entropy: Entropy): string {
  // The greatest multiple of 10^8 below 2^32: what lies above would favour low codes.
  const most = Math.floor(2 ** 32 / CODES) * CODES;
  for (;;) {
    const value = new DataView(entropy.bytes(4).buffer).getUint32(0);
    if (value < most) return String(value % CODES).padStart(DIGITS, "0");
  }
}

/**
 * Read a join code as people write it.
 *
 * @param text Digits, with blanks or hyphens between them.
 * @returns 8 digits, or undefined when the text is no code.
 */
export function parseJoinCode(text: string): string | undefined {
  if (text.length > 64) return undefined;
  const digits = text.replace(/[\s\p{Pd}]+/gu, "");
  return /^\d{8}$/.test(digits) ? digits : undefined;
}

/** The password of the exchange for a code. */
export function codePassword(code: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(code);
}
