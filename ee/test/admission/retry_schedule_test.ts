import assert from "node:assert/strict";
import {
  isAdmissionDue,
  type RetryState,
  scheduleAdmission,
} from "../../src/admission/retry_schedule.ts";

const SIGHTING = "id 192.0.2.1:11412";

Deno.test("scheduleAdmission backs off from 10 s to 10 minutes", () => {
  let state: RetryState | undefined;
  const waits = [];
  for (let n = 0; n < 9; n++) {
    state = scheduleAdmission(state, SIGHTING, "no_match", 1_000, 0);
    waits.push((state.notBeforeMs - 1_000) / 1_000);
  }
  assert.deepEqual(waits, [10, 20, 40, 80, 160, 320, 600, 600, 600]);
  for (let n = 0; n < 2_000; n++) {
    state = scheduleAdmission(state, SIGHTING, "refused", 0, 0.999);
  }
  assert.equal(state?.notBeforeMs, 600_000);
});

Deno.test("scheduleAdmission spreads nodes that failed together by a quarter", () => {
  const at = (chance: number) =>
    scheduleAdmission(undefined, SIGHTING, "timeout", 0, chance).notBeforeMs;
  assert.equal(at(0), 10_000);
  assert.equal(at(0.5), 11_250);
});

Deno.test("scheduleAdmission asks a busy peer again after 1 s", () => {
  const state = scheduleAdmission(undefined, SIGHTING, "busy", 0, 0);
  assert.equal(state.notBeforeMs, 1_000);
});

Deno.test("isAdmissionDue lets a sighting be tried once, then by the schedule, and anew when it changes", () => {
  assert.equal(isAdmissionDue(undefined, SIGHTING, 0), true);
  const state = scheduleAdmission(undefined, SIGHTING, "no_match", 0, 0);
  assert.equal(isAdmissionDue(state, SIGHTING, 9_999), false);
  assert.equal(isAdmissionDue(state, SIGHTING, 10_000), true);
  assert.equal(isAdmissionDue(state, "id 192.0.2.9:11412", 1), true);
  const again = scheduleAdmission(
    state,
    "id 192.0.2.9:11412",
    "no_match",
    1,
    0,
  );
  assert.equal(again.notBeforeMs, 10_001);
});
