import assert from "node:assert/strict";
import { decideDerived } from "../../src/copy/derived_file.ts";

const choice = {
  sizeBytes: 1_000_000_000,
  derivation: { from: "ab".repeat(32), recipe: "gguf Q4_K_M", tookMs: 20_000 },
  hasOriginal: true,
  canMake: true,
  linkBytesPerSecond: 100_000_000,
  relativeSpeed: 1,
};

Deno.test("decideDerived copies over a link that is faster than making, and makes where it is not", () => {
  assert.equal(decideDerived(choice), "copy");
  const slow = { ...choice, linkBytesPerSecond: 40_000_000 };
  assert.equal(decideDerived(slow), "make");
  // A machine at half the speed takes twice as long.
  assert.equal(decideDerived({ ...slow, relativeSpeed: 0.5 }), "copy");
  assert.equal(decideDerived({ ...choice, linkBytesPerSecond: 0 }), "make");
});

Deno.test("decideDerived copies what can not be made, and while nothing was seen of the link", () => {
  const slow = { ...choice, linkBytesPerSecond: 1 };
  assert.equal(decideDerived({ ...slow, hasOriginal: false }), "copy");
  assert.equal(decideDerived({ ...slow, canMake: false }), "copy");
  assert.equal(decideDerived({ ...choice, linkBytesPerSecond: null }), "copy");
});
