import assert from "node:assert/strict";
import { createSeededEntropy } from "../../src/platform/mod.ts";
import {
  type Level,
  observeLevel,
  startLevel,
} from "../../src/router/level.ts";

/** Factors with 20 % noise and 3 % outliers of three to eight times. */
function noise(seed: number): () => number {
  const entropy = createSeededEntropy(seed);
  return () => {
    if (entropy.float() < 0.03) return 3 + 5 * entropy.float();
    const gauss = Math.sqrt(-2 * Math.log(1 - entropy.float())) *
      Math.cos(2 * Math.PI * entropy.float());
    return Math.exp(0.2 * gauss);
  };
}

function follow(
  level: Level,
  truth: number,
  count: number,
  next: () => number,
) {
  let followed = level;
  for (let n = 0; n < count; n++) {
    followed = observeLevel(followed, truth * next());
  }
  return followed;
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;
}

Deno.test("observeLevel comes within 6 % of the truth under noise and outliers", () => {
  const errors = Array.from({ length: 200 }, (_, seed) => {
    const level = follow(startLevel(20), 33, 40, noise(seed));
    return Math.abs(level.value / 33 - 1);
  });
  assert(medianOf(errors) < 0.06, `median error ${medianOf(errors)}`);
});

Deno.test("observeLevel follows a change of regime within three observations, and back", () => {
  let level = follow(startLevel(100), 100, 30, () => 1);
  level = follow(level, 40, 3, () => 1);
  assert(Math.abs(level.value - 40) < 0.5, `${level.value}`);
  level = follow(level, 100, 3, () => 1);
  assert(Math.abs(level.value - 100) < 0.5, `${level.value}`);
});

Deno.test("observeLevel shrugs at one outlier", () => {
  const steady = follow(startLevel(100), 100, 20, () => 1);
  const after = observeLevel(steady, 1000);
  assert(after.value < 106, `${after.value}`);
});

Deno.test("observeLevel replaces the prior by the first observation and ignores what is none", () => {
  assert.equal(observeLevel(startLevel(1), 50).value.toFixed(6), "50.000000");
  for (const odd of [0, -1, NaN, Infinity]) {
    assert.deepEqual(observeLevel(startLevel(7), odd), startLevel(7));
  }
});
