import assert from "node:assert/strict";
import { createSeededEntropy, MemoryFiles } from "../../src/platform/mod.ts";
import { loadNodeId, NodeIdError } from "../../src/store/node_id.ts";

const PATH = "/data/node.json";

Deno.test("loadNodeId draws an id once and keeps it", async () => {
  const files = new MemoryFiles();
  await files.makeFolder("/data", 0o700);
  const first = await loadNodeId(files, createSeededEntropy(1), "/data");
  const again = await loadNodeId(files, createSeededEntropy(2), "/data");
  assert.equal(again, first);
});

Deno.test("IDN-06 loadNodeId refuses a torn file and leaves it as it is", async () => {
  const whole = `{"id":"0f0e0d0c-1111-4222-8333-444455556666"}\n`;
  for (
    const torn of ["", whole.slice(0, 20), "\0".repeat(64), "[]", `${whole}x`]
  ) {
    const files = new MemoryFiles({ [PATH]: torn });
    await assert.rejects(
      () => loadNodeId(files, createSeededEntropy(1), "/data"),
      (error) => {
        assert.ok(error instanceof NodeIdError);
        assert.match(error.message, /\/data\/node\.json/);
        return true;
      },
    );
    assert.equal(await files.readText(PATH), torn);
  }
});

Deno.test("loadNodeId passes on that the folder can not be written", async () => {
  const files = new MemoryFiles();
  await files.makeFolder("/data", 0o700);
  files.failWrites = "full";
  await assert.rejects(
    () => loadNodeId(files, createSeededEntropy(1), "/data"),
    /no space left/,
  );
});
