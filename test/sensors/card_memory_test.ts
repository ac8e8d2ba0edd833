import assert from "node:assert/strict";
import { cardMemoryFacts } from "../../src/sensors/card_memory.ts";
import { mergeFacts } from "../../src/sensors/merge_facts.ts";

Deno.test("cardMemoryFacts adds cards up, and knows no sum where one does not tell", () => {
  assert.deepEqual(cardMemoryFacts([], true), {});
  const two = [
    { totalBytes: 24, freeBytes: 5 },
    { totalBytes: 8, freeBytes: 8 },
  ];
  assert.deepEqual(cardMemoryFacts(two, true), {
    cardMemoryTotalBytes: 32,
    cardMemoryFreeBytes: 13,
  });
  // A card that nothing computes on is no room, however empty it is.
  assert.deepEqual(cardMemoryFacts(two, false), {
    cardMemoryTotalBytes: 0,
    cardMemoryFreeBytes: 0,
  });
  const silent = [...two, { totalBytes: 16, freeBytes: null }];
  assert.deepEqual(cardMemoryFacts(silent, true), {
    cardMemoryTotalBytes: 48,
    cardMemoryFreeBytes: null,
  });
});

Deno.test("mergeFacts adds memory of cards of several makers, and no other number", () => {
  const merged = mergeFacts([
    { cardMemoryTotalBytes: 16, cardMemoryFreeBytes: 12, gpuBusyShare: 0.1 },
    { cardMemoryTotalBytes: 24, cardMemoryFreeBytes: 20, gpuBusyShare: 0.9 },
  ]);
  assert.equal(merged.cardMemoryTotalBytes, 40);
  assert.equal(merged.cardMemoryFreeBytes, 32);
  assert.equal(merged.gpuBusyShare, 0.1);
  assert.equal(mergeFacts([]).cardMemoryTotalBytes, null);
});
