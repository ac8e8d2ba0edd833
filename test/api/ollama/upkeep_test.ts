import assert from "node:assert/strict";
import { upkeepOf } from "../../../src/api/ollama/upkeep.ts";

Deno.test("keep_alive is read in every form that Ollama knows, and num_ctx is a number of tokens", () => {
  const forms: readonly (readonly [unknown, number | null | undefined])[] = [
    [undefined, undefined],
    [null, undefined],
    ["", undefined],
    [0, 0],
    ["0", 0],
    ["0s", 0],
    [300, 300_000],
    ["300", 300_000],
    [1.5, 1_500],
    ["5m", 300_000],
    ["1h30m", 5_400_000],
    ["250ms", 250],
    ["1500us", 2],
    [-1, null],
    ["-1", null],
    ["-1m", null],
    [1e300, 365 * 24 * 3_600_000],
  ];
  for (const [value, expected] of forms) {
    assert.equal(
      upkeepOf({ keep_alive: value as string }).keepAliveMs,
      expected,
      String(value),
    );
  }
  for (const value of ["soon", "5 m", "m5", true, [], {}, "+-5", "5d"]) {
    assert.throws(
      () => upkeepOf({ keep_alive: value as string }),
      /keep_alive/,
    );
  }
  assert.deepEqual(upkeepOf({ options: { num_ctx: 8192 } }), {
    contextLength: 8192,
  });
  for (const num_ctx of [0, -1, 1.5, "8192", 1e12]) {
    assert.throws(() => upkeepOf({ options: { num_ctx } }), /num_ctx/);
  }
});
