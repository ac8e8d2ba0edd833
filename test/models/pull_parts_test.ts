import assert from "node:assert/strict";
import { CHUNK_BYTES } from "../../src/domain/mod.ts";
import { readPartState } from "../../src/models/pull/part_state.ts";
import { type PartFile, PartFiles } from "../../src/models/pull/pull_parts.ts";
import { createSeededEntropy, MemoryFiles } from "../../src/platform/mod.ts";
import { sha256Of } from "../fakes/hub_server.ts";

const SIZE = 2 * CHUNK_BYTES + 100;
const BYTES = createSeededEntropy(1).bytes(SIZE);
const PART: PartFile = {
  path: "/p/a.part",
  sizeBytes: SIZE,
  sha256: sha256Of(BYTES),
  etag: null,
};

function chunk(position: number): Uint8Array<ArrayBuffer> {
  return BYTES.slice(position * CHUNK_BYTES, (position + 1) * CHUNK_BYTES);
}

async function give(parts: PartFiles, ...positions: readonly number[]) {
  for (const position of positions) {
    const bytes = chunk(position);
    await parts.write({ file: 0, position }, bytes, sha256Of(bytes));
  }
  await parts.flush();
}

Deno.test("PartFiles knows after a restart what members gave, but of other bytes nothing", async () => {
  const files = new MemoryFiles({ "/p/.k": "" });
  await give(await PartFiles.open(files, [PART], 1), 2, 0);
  const again = await PartFiles.open(files, [PART], 1);
  assert.deepEqual(again.arrived.map(({ position }) => position).sort(), [
    0,
    2,
  ]);
  assert.equal(again.arrivedBytes, CHUNK_BYTES + 100);
  assert.equal(
    await again.digest({ file: 0, position: 2 }),
    sha256Of(chunk(2)),
  );
  assert.deepEqual(await again.read({ file: 0, position: 0 }), chunk(0));
  assert.equal(await again.read({ file: 0, position: 1 }), null);
  const state = await readPartState(files, PART.path);
  assert.deepEqual(state?.relayed?.toSorted(), [0, 2]);
  for (
    const other of [
      { ...PART, sha256: "ab".repeat(32) },
      { ...PART, sha256: null },
      { ...PART, sizeBytes: SIZE + 1 },
    ]
  ) assert.deepEqual((await PartFiles.open(files, [other], 1)).arrived, []);
});

Deno.test("PartFiles counts chunks of a download once every byte of them lies there, in whatever pieces", async () => {
  const files = new MemoryFiles({ "/p/.k": "" });
  const parts = await PartFiles.open(files, [PART], 1);
  const { dropped, wrote } = parts.watch(0);
  const here = () => parts.arrived.map(({ position }) => position);
  wrote(0, 1000);
  wrote(CHUNK_BYTES - 5, CHUNK_BYTES + 7);
  assert.deepEqual(here(), []);
  wrote(1000, CHUNK_BYTES - 5);
  assert.deepEqual(here(), [0]);
  wrote(2 * CHUNK_BYTES, SIZE);
  assert.deepEqual(here(), [0, 2]);
  wrote(CHUNK_BYTES, 2 * CHUNK_BYTES);
  assert.deepEqual(here(), [0, 2, 1]);
  const { run } = parts;
  dropped();
  assert.ok(parts.run > run);
  assert.deepEqual(here(), []);
});

Deno.test("PartFiles drops what is wrong, and what members gave where a whole file is not what was published", async () => {
  const files = new MemoryFiles({ "/p/.k": "" });
  const parts = await PartFiles.open(files, [PART], 1);
  await give(parts, 0, 1);
  await parts.drop([{ file: 0, position: 1 }]);
  assert.equal(parts.has({ file: 0, position: 1 }), false);
  const reopened = await PartFiles.open(files, [PART], 1);
  assert.deepEqual(reopened.arrived, [{ file: 0, position: 0 }]);
  await parts.dropRelayed();
  assert.deepEqual(parts.arrived, []);
  assert.deepEqual((await PartFiles.open(files, [PART], 1)).arrived, []);
  await assert.rejects(
    parts.write({ file: 0, position: 0 }, chunk(2), ""),
    RangeError,
  );
});
