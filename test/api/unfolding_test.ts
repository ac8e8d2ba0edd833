import assert from "node:assert/strict";
import type { Unfolding } from "./unfolding_program.ts";

const LIMIT_BYTES = 16 * 1024 * 1024;

Deno.test("REQ-03 a small body that unfolds to a large one takes no more memory than the limit twice", async () => {
  const program = new URL("unfolding_program.ts", import.meta.url).pathname;
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-check",
      "--v8-flags=--expose-gc",
      "-A",
      program,
      String(LIMIT_BYTES),
    ],
    stdin: "null",
  }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  const unfoldings: readonly Unfolding[] = JSON.parse(
    new TextDecoder().decode(stdout),
  );
  assert.deepEqual(unfoldings.map(({ coding }) => coding), [
    "gzip",
    "br",
    "zstd",
  ]);
  for (const { coding, grownBytes, sentBytes, statuses } of unfoldings) {
    assert.ok(sentBytes < 100_000, `${coding}: ${sentBytes} bytes`);
    assert.deepEqual(new Set(statuses), new Set([413]), coding);
    // Garbage that waits to be collected makes one or the other larger, and
    // what the one before had makes it smaller.
    const sorted = grownBytes.toSorted((a, b) => a - b);
    const middle = sorted[Math.floor(sorted.length / 2)] ?? Infinity;
    assert.ok(
      middle < 2 * LIMIT_BYTES,
      `${coding}: ${grownBytes.join(", ")} bytes more`,
    );
  }
});
