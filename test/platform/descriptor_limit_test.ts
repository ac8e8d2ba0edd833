import assert from "node:assert/strict";
import { MemoryFiles, readDescriptorLimit } from "../../src/platform/mod.ts";

Deno.test("readDescriptorLimit reads the soft limit, and knows nothing without /proc", async () => {
  const files = new MemoryFiles();
  assert.equal(await readDescriptorLimit(files), null);
  await files.makeFolder("/proc/self", 0o755);
  const table: [string, number | null][] = [
    [
      "Max open files            1024                 1048576              files\n",
      1024,
    ],
    [
      "Max processes 1 2 processes\nMax open files            unlimited  unlimited files\n",
      Infinity,
    ],
    ["something else\n", null],
  ];
  for (const [text, limit] of table) {
    await files.writeAtomic("/proc/self/limits", text, 0o444);
    assert.equal(await readDescriptorLimit(files), limit, text);
  }
});
