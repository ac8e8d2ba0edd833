/** Weights that share one scale in llama.cpp's type Q8_0. */
export const BLOCK_WEIGHTS = 32;
/** Bytes of such a block: its scale as a half, then a signed byte for each weight. */
export const BLOCK_BYTES = 34;
const LARGEST = 127;

const half = new Float16Array(1);
const halfBits = new Uint16Array(half.buffer);

/**
 * Write weights as blocks of Q8_0, byte for byte as llama.cpp's reference
 * `quantize_row_q8_0_ref` does on whatever machine: each step is rounded to 32
 * bits as there, halves away from zero. What has no number in a signed byte
 * there (the scale is too small to have an inverse) is zero here.
 *
 * @param weights The weights; whole blocks.
 * @param count How many of them.
 * @param into Room for `count / 32` blocks.
 * @returns False where a weight is no number or too large for a half as scale.
 */
export function quantiseQ8(
  weights: Float32Array,
  count: number,
  into: Uint8Array,
): boolean {
  let at = 0;
  let sound = true;
  for (let start = 0; start < count; start += BLOCK_WEIGHTS) {
    let largest = 0;
    // Not a number stays so, which the scale below then is as well.
    for (let j = 0; j < BLOCK_WEIGHTS; j++) {
      largest = Math.max(largest, Math.abs(weights[start + j] ?? 0));
    }
    const scale = Math.fround(largest / LARGEST);
    const inverse = Math.fround(1 / scale);
    const factor = inverse < Infinity ? inverse : 0;
    half[0] = scale;
    sound &&= Number.isFinite(half[0]);
    const bits = halfBits[0] ?? 0;
    into[at++] = bits;
    into[at++] = bits >>> 8;
    for (let j = 0; j < BLOCK_WEIGHTS; j++) {
      const value = Math.fround((weights[start + j] ?? 0) * factor);
      // Positive, so that cutting is rounding down.
      const raised = value + (LARGEST + 1.5);
      const cut = raised | 0;
      const isHalfBelowZero = raised === cut && value < 0;
      into[at++] = (isHalfBelowZero ? cut - 1 : cut) - (LARGEST + 1);
    }
  }
  return sound;
}
