import assert from "node:assert/strict";
import { CHUNK_BYTES, type ModelManifest } from "@covey/core/domain";
import { FileError, type Files, MemoryFiles } from "@covey/core/platform";
import { rootOfFiles } from "../../src/copy/copy_manifest.ts";
import { PartStore } from "../../src/copy/part_store.ts";

const CHUNKS = 32;

/** Its bytes are looked at by nobody: a store keeps what it is given. */
const digests = [{
  name: "x",
  sizeBytes: CHUNKS * CHUNK_BYTES,
  sha256: "0".repeat(64),
  chunks: Array.from({ length: CHUNKS }, () => "0".repeat(64)),
}];
const manifest: ModelManifest = {
  model: "m",
  root: rootOfFiles(digests),
  files: digests,
  architecture: "llama",
  contextLength: 1,
  quantisation: null,
};

/** Files whose parts only count: a disk of which every n-th sync fails, as a kernel says it once. */
function countingFiles(failing: number) {
  const counts = { writes: 0, syncs: 0 };
  const files: Files = Object.assign(new MemoryFiles({ "/models/.k": "" }), {
    openForWriting: (path: string) =>
      Promise.resolve({
        write() {
          counts.writes++;
          return Promise.resolve();
        },
        sync() {
          counts.syncs++;
          return counts.syncs === failing
            ? Promise.reject(new FileError("other", path, "write", undefined))
            : Promise.resolve();
        },
        [Symbol.dispose]() {},
      }),
  });
  return { counts, files };
}

async function writeAll(files: Files): Promise<PartStore> {
  const signal = new AbortController().signal;
  const store = await PartStore.open(files, "/models", manifest, signal);
  const bytes = new Uint8Array(CHUNK_BYTES);
  for (const chunk of store.chunks) await store.write(chunk, bytes);
  return store;
}

Deno.test("PartStore has the disk take bytes as they come, and little is left for the end", async () => {
  const { counts, files } = countingFiles(0);
  using _store = await writeAll(files);
  // A sync each 64 MiB.
  assert.equal(counts.syncs, 2);
});

Deno.test("PartStore publishes nothing once the disk lost bytes, though it says so but once", async () => {
  const { files } = countingFiles(1);
  await assert.rejects(writeAll(files), FileError);
  const late = countingFiles(2);
  using store = await writeAll(late.files);
  await assert.rejects(store.publish("/models", "m"), FileError);
});

Deno.test("PartStore publishes into an empty folder of the model's name, and beside one that holds something", async () => {
  for (const [seed, folder] of [["", "m"], ["/models/m/.note", "m (2)"]]) {
    const { files } = countingFiles(0);
    await files.makeFolder("/models/m", 0o755);
    if (seed) await files.writeAtomic(seed, "", 0o600);
    using store = await writeAll(files);
    // Its parts were only counted.
    await files.writeAtomic(store.pathOf(0), "weights", 0o600);
    assert.deepEqual(await store.publish("/models", "m"), [
      `/models/${folder}/m.gguf`,
    ]);
  }
});
