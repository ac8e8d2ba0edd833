import assert from "node:assert/strict";
import { decideDerived } from "../../src/copy/derived_file.ts";

const choice = {
  sizeBytes: 1_000_000_000,
  derivation: { from: "ab".repeat(32), recipe: "gguf q8_0 1", tookMs: 20_000 },
  linkBytesPerSecond: 100_000_000,
  relativeSpeed: 1,
};

Deno.test("decideDerived copies over a link that is faster than making, and makes where it is not", () => {
  assert.deepEqual(decideDerived(choice), {
    kind: "copy",
    copyMs: 10_000,
    makeMs: 20_000,
  });
  const slow = { ...choice, linkBytesPerSecond: 40_000_000 };
  assert.deepEqual(decideDerived(slow), {
    kind: "make",
    copyMs: 25_000,
    makeMs: 20_000,
  });
  // A machine at half the speed takes twice as long.
  assert.equal(decideDerived({ ...slow, relativeSpeed: 0.5 }).kind, "copy");
  const none = decideDerived({ ...choice, linkBytesPerSecond: 0 });
  assert.deepEqual([none.kind, none.copyMs], ["make", Infinity]);
});

Deno.test("decideDerived copies while nothing was seen of the link", () => {
  const unseen = decideDerived({ ...choice, linkBytesPerSecond: null });
  assert.deepEqual([unseen.kind, unseen.copyMs], ["copy", null]);
});
