import assert from "node:assert/strict";
import { UNKNOWN_MACHINE } from "../../src/domain/mod.ts";
import { tierOfMachine } from "../../src/sensors/machine_tier.ts";

Deno.test("tierOfMachine sorts by memory, processors and card, and waits for what is not known", () => {
  const rows = [
    [64e9, 16, false, 1],
    // 23 of 32 GB usable, as seed 2's server with a faulty module.
    [24.7e9, 8, false, 1],
    // What 16 GB come to beside built-in graphics.
    [14.6e9, 8, false, 1],
    [16e9, 4, false, 2],
    [16e9, 4, true, 1],
    [8.1e9, 4, false, 2],
    [8.1e9, 8, true, 1],
    [4e9, 4, false, 3],
    [4e9, 4, true, 3],
    [32e9, 2, false, 3],
  ] as const;
  for (const [memoryTotalBytes, cpuCount, hasCard, tier] of rows) {
    const machine = { ...UNKNOWN_MACHINE, memoryTotalBytes, cpuCount };
    assert.equal(tierOfMachine(machine, hasCard), tier, `${memoryTotalBytes}`);
  }
  assert.equal(tierOfMachine(UNKNOWN_MACHINE, true), null);
});
