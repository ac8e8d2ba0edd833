import assert from "node:assert/strict";
import { formatDuration } from "../../src/cli/duration.ts";

Deno.test("formatDuration takes the unit that a person would", () => {
  assert.deepEqual(
    [0, 1, 119_000, 119_001, 5 * 60_000, 119 * 60_000, 2.26 * 3_600_000]
      .map(formatDuration),
    ["0 s", "1 s", "119 s", "2 min", "5 min", "119 min", "2.3 h"],
  );
  assert.equal(formatDuration(24 * 3_600_000), "24 h");
});
