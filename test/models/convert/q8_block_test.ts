import assert from "node:assert/strict";
import fc from "fast-check";
import {
  BLOCK_BYTES,
  BLOCK_WEIGHTS,
  quantiseQ8,
} from "../../../src/models/convert/q8_block.ts";

function quantise(weights: readonly number[]) {
  const blocks = weights.length / BLOCK_WEIGHTS;
  const bytes = new Uint8Array(blocks * BLOCK_BYTES);
  const floats = new Float32Array(weights);
  const sound = quantiseQ8(floats, floats.length, bytes);
  return { sound, bytes, view: new DataView(bytes.buffer) };
}

/** A block that begins with these weights. */
function block(...weights: readonly number[]): readonly number[] {
  return [
    ...weights,
    ...Array.from({ length: BLOCK_WEIGHTS - weights.length }, () => 0),
  ];
}

Deno.test("quantiseQ8 rounds halves away from zero, as C's roundf does", () => {
  const { bytes, sound, view } = quantise(
    block(127, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, -0.49999997, 0.49999997, -127),
  );
  assert.ok(sound);
  assert.equal(view.getFloat16(0, true), 1);
  assert.deepEqual(
    [...new Int8Array(bytes.buffer, 2, 10)],
    [127, 1, -1, 2, -2, 3, -3, 0, 0, -127],
  );
});

Deno.test("quantiseQ8 writes zeros where a block has none but zeros, or too small ones", () => {
  for (const weights of [block(), block(-0), block(1e-40, -1e-40)]) {
    const { bytes, sound } = quantise(weights);
    assert.ok(sound);
    assert.ok(bytes.every((byte) => byte === 0));
  }
});

Deno.test("quantiseQ8 refuses what is no number and what no half can scale", () => {
  for (const bad of [NaN, Infinity, -Infinity, 3e38, 127 * 65_536]) {
    assert.ok(!quantise([...block(1), ...block(1, bad)]).sound, String(bad));
  }
  assert.ok(quantise(block(127 * 65_504)).sound);
});

Deno.test("quantiseQ8 keeps every weight within half a step", () => {
  const weight = fc.float({ noNaN: true, min: -1e6, max: 1e6 });
  fc.assert(
    fc.property(
      fc.array(weight, {
        minLength: BLOCK_WEIGHTS,
        maxLength: BLOCK_WEIGHTS,
      }),
      (weights) => {
        const { sound, view } = quantise(weights);
        assert.ok(sound);
        const step = Math.fround(Math.max(...weights.map(Math.abs)) / 127);
        // What is stored is the step as near as a half comes.
        assert.equal(view.getFloat16(0, true), Math.f16round(step));
        if (Math.fround(1 / step) === Infinity) return;
        for (const [at, one] of weights.entries()) {
          const back = step * view.getInt8(2 + at);
          assert.ok(Math.abs(back - one) <= step * 0.500_02, `${one}: ${back}`);
        }
      },
    ),
  );
});
