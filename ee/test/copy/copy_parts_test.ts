import assert from "node:assert/strict";
import fc from "fast-check";
import {
  CHUNK_BYTES,
  type FileDigest,
  type ModelManifest,
  UNKNOWN_MACHINE,
} from "@covey/core/domain";
import { MemoryFiles } from "@covey/core/platform";
import { CopyError } from "../../src/copy/copy_error.ts";
import {
  encodeManifest,
  parseManifest,
  rootOfFiles,
} from "../../src/copy/copy_manifest.ts";
import { checkRoom } from "../../src/copy/disk_gate.ts";
import { sha256 } from "../../src/copy/gather.ts";
import {
  checkModelName,
  modelFileNames,
} from "../../src/copy/model_file_names.ts";
import { formatModelPath, parseModelPath } from "../../src/copy/model_path.ts";
import { PartStore } from "../../src/copy/part_store.ts";
import { WireError } from "../../src/link/wire_error.ts";

const digest = fc.uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => bytes.toHex());
const manifests: fc.Arbitrary<ModelManifest> = fc.array(
  fc.record({
    name: fc.string(),
    sha256: digest,
    chunks: fc.array(digest, { minLength: 1, maxLength: 3 }),
    tail: fc.integer({ min: 1, max: CHUNK_BYTES }),
    origin: fc.option(
      fc.record({
        source: fc.constant("org/repo"),
        path: fc.option(fc.constant("m.gguf")),
        revision: fc.option(fc.constant("abc")),
        etag: fc.option(fc.constant('"1"')),
        sha256: fc.option(digest),
        derived: fc.option(
          fc.record({
            from: digest,
            recipe: fc.constant("gguf q8_0 1"),
            tookMs: fc.nat(),
          }, { noNullPrototype: true }),
        ),
      }, {
        noNullPrototype: true,
        requiredKeys: ["source", "path", "revision", "etag", "sha256"],
      }),
    ),
  }),
  { minLength: 1, maxLength: 3 },
).map((parts) => {
  const files = parts.map(({ tail, ...file }) => ({
    ...file,
    sizeBytes: (file.chunks.length - 1) * CHUNK_BYTES + tail,
  }));
  return {
    model: "m",
    root: rootOfFiles(files),
    files,
    architecture: "llama",
    contextLength: 2048,
    quantisation: null,
  };
});

const weightsOf = ({ chunks, sha256, sizeBytes }: FileDigest) => ({
  chunks,
  sha256,
  sizeBytes,
});

Deno.test("parseManifest accepts what it was made of, and nothing with one byte changed in its digests or sizes", () => {
  fc.assert(
    fc.property(manifests, fc.nat(), fc.nat(7), (manifest, at, bit) => {
      const bytes = encodeManifest(manifest);
      assert.deepEqual(parseManifest(bytes, manifest.root), manifest);
      const spoiled = bytes.slice();
      spoiled[at % bytes.length] = (spoiled[at % bytes.length] ?? 0) ^ 1 << bit;
      let read: ModelManifest;
      try {
        read = parseManifest(spoiled, manifest.root);
      } catch (error) {
        assert.ok(error instanceof WireError);
        return;
      }
      // What names and describes is no part of the root.
      assert.deepEqual(
        read.files.map(weightsOf),
        manifest.files.map(weightsOf),
      );
    }),
    { numRuns: 2000 },
  );
});

Deno.test("checkModelName lets nothing out of the folder and names what is wrong", () => {
  for (
    const hostile of [
      "..",
      "../m",
      "a/b",
      "a\\b",
      "a\0b",
      ".hidden",
      "m ",
      "m.",
      "CON",
      "nul.gguf",
      "COM1",
      "a:b",
      "a\nb",
      "x".repeat(300),
    ]
  ) {
    assert.throws(() => checkModelName(hostile), CopyError, hostile);
  }
  for (const sound of ["qwen2.5-0.5b-q4_k_m", "Küche 1", "console"]) {
    assert.equal(checkModelName(sound), sound);
  }
  assert.deepEqual(modelFileNames("m", 2), [
    "m-00001-of-00002.gguf",
    "m-00002-of-00002.gguf",
  ]);
});

Deno.test("parseModelPath reads what formatModelPath wrote and nothing else", () => {
  const root = "ab".repeat(32);
  for (
    const path of [
      { kind: "manifest", root },
      { kind: "held", root },
      { kind: "file", root, file: 12 },
    ] as const
  ) assert.deepEqual(parseModelPath(formatModelPath(path)), path);
  for (
    const text of [
      "",
      `/covey/1/models/${root}/files/../x`,
      `/covey/1/models/${root}`,
    ]
  ) assert.equal(parseModelPath(text), undefined);
});

Deno.test("checkRoom keeps free what a healthy machine has, and says how much is missing", () => {
  const reading = {
    ...UNKNOWN_MACHINE,
    diskTotalBytes: 100e9,
    diskFreeBytes: 15e9,
  };
  checkRoom(5e9, reading);
  checkRoom(500e9, null);
  checkRoom(500e9, UNKNOWN_MACHINE);
  assert.throws(
    () => checkRoom(6e9, reading),
    /make room for 1000 MB more/,
  );
});

Deno.test("PartStore takes back a publishing that was cut short", async () => {
  const files = new MemoryFiles();
  await files.makeFolder("/models", 0o700);
  const parts = [new Uint8Array([1, 2]), new Uint8Array([3])];
  const digests = parts.map((bytes) => ({
    name: "x",
    sizeBytes: bytes.length,
    sha256: sha256(bytes),
    chunks: [sha256(bytes)],
  }));
  const manifest: ModelManifest = {
    model: "m",
    root: rootOfFiles(digests),
    files: digests,
    architecture: "llama",
    contextLength: 1,
    quantisation: null,
  };
  const signal = new AbortController().signal;
  const folder = `/models/.copies/${manifest.root}`;
  {
    using store = await PartStore.open(files, "/models", manifest, signal);
    for (const chunk of store.chunks) {
      await store.write(chunk, parts[chunk.file] ?? new Uint8Array());
    }
  }
  await files.makeFolder(`${folder}/whole`, 0o700);
  await files.rename(
    `${folder}/0.part`,
    `${folder}/whole/m-00001-of-00002.gguf`,
  );
  assert.ok(!await PartStore.wasPublished(files, "/models", manifest));
  using store = await PartStore.open(files, "/models", manifest, signal);
  assert.ok(store.held.isComplete);
  const paths = await store.publish("/models", "m");
  assert.deepEqual(paths, [
    "/models/m/m-00001-of-00002.gguf",
    "/models/m/m-00002-of-00002.gguf",
  ]);
  assert.deepEqual(await files.readBytes(paths[1] ?? ""), parts[1]);
  await assert.rejects(files.stat(folder));
});
