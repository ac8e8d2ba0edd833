import assert from "node:assert/strict";
import { UNKNOWN_MACHINE } from "@covey/core/domain";
import { withMachine } from "../../src/link/machine_availability.ts";
import { parseWorkReport } from "../../src/link/work_wire.ts";

const OLD = { engines: [], dispatchesSeen: {} };

Deno.test("parseWorkReport reads an older member's report, which tells nothing of its machine", () => {
  assert.deepEqual(parseWorkReport(OLD), OLD);
});

Deno.test("HW-01 parseWorkReport takes what it cannot read of a machine for unknown", () => {
  const read = parseWorkReport({
    ...OLD,
    machine: {
      temperatureCelsius: 61.5,
      isThrottled: "yes",
      load1: "busy",
      memoryPressure: "unheard of",
      later: 1,
    },
    conditions: { ok: false, reasons: ["is busy"] },
    withheld: "runs on battery",
  });
  assert.deepEqual(read, {
    ...OLD,
    machine: { ...UNKNOWN_MACHINE, temperatureCelsius: 61.5 },
    conditions: { ok: false, reasons: ["is busy"] },
    withheld: "runs on battery",
  });
});

Deno.test("withMachine degrades an unfit peer and takes out one that serves itself", () => {
  const available = { kind: "available" } as const;
  const unfit = { ...OLD, conditions: { ok: false, reasons: ["is busy"] } };
  assert.equal(withMachine(available, OLD), available);
  assert.deepEqual(withMachine(available, unfit), {
    kind: "degraded",
    reason: "It is busy",
  });
  assert.deepEqual(
    withMachine(available, { ...unfit, withheld: "runs on battery" }),
    { kind: "unavailable", reason: "It runs on battery" },
  );
  const away = { kind: "unavailable", reason: "It is off line" } as const;
  assert.equal(withMachine(away, unfit), away);
});
