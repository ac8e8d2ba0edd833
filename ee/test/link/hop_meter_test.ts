import assert from "node:assert/strict";
import { HopMeter } from "../../src/link/hop_meter.ts";

Deno.test("HopMeter gives the median of the last 16 and their mean deviation", () => {
  const meter = new HopMeter();
  assert.deepEqual(meter.hop(), { medianMs: 0, jitterMs: 0 });
  for (const ms of [500, 500, ...Array(8).fill(1), ...Array(8).fill(3)]) {
    meter.observe(ms);
  }
  assert.deepEqual(meter.hop(), { medianMs: 2, jitterMs: 1 });
});
