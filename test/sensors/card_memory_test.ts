import assert from "node:assert/strict";
import { ManualClock, MemoryFiles } from "../../src/platform/mod.ts";
import { cardMemoryFacts } from "../../src/sensors/card_memory.ts";
import { mergeFacts } from "../../src/sensors/merge_facts.ts";
import { createSensors } from "../../src/sensors/mod.ts";
import { FakeProcesses } from "../fakes/fake_processes.ts";
import { QuietLog } from "../fakes/quiet_log.ts";

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

Deno.test("createSensors takes engines' word for cards of which no sensor tells, and no other", async () => {
  const clock = new ManualClock();
  const said = { totalBytes: 16, freeBytes: 9 };
  const files = new MemoryFiles({ "/models/x": "" });
  await using sensors = createSensors({
    files,
    processes: new FakeProcesses(),
    clock,
    log: new QuietLog(),
    platform: "other",
    path: "/usr/bin",
    modelsDir: "/models",
    onBattery: "local",
    computesHere: () => true,
    ownPids: () => [],
    isBusy: () => false,
    saidCards: () => said,
  });
  assert.equal(sensors.reading().cardMemoryTotalBytes, 16);
  assert.equal(sensors.reading().cardMemoryFreeBytes, 9);
  // Whoever told of them is not told of them again.
  assert.equal(sensors.seenCards(), null);
});
