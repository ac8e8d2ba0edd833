import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { CHUNK_BYTES } from "../../src/domain/mod.ts";
import { canonicalJson } from "../../src/domain/canonical_json.ts";
import { createModelStore } from "../../src/models/model_store.ts";
import { ManualClock, MemoryFiles } from "../../src/platform/mod.ts";
import { buildGguf, buildModel } from "../fakes/gguf_builder.ts";
import { QuietLog } from "../fakes/quiet_log.ts";

const sha256 = (bytes: Uint8Array | string) =>
  createHash("sha256").update(bytes).digest("hex");

function storeOver(files: MemoryFiles, log = new QuietLog()) {
  return createModelStore({
    files,
    clock: new ManualClock(),
    log,
    modelsDir: "/models",
    manifestsDir: "/data/manifests",
  });
}

function bigModel(): Uint8Array<ArrayBuffer> {
  const weights = CHUNK_BYTES + 1_000;
  const model = buildGguf({
    pairs: [
      ["general.architecture", { text: "llama" }],
      ["general.file_type", { u32: 15 }],
      ["llama.context_length", { u32: 4_096 }],
    ],
    tensors: [{ name: "t", dimensions: [weights], type: 24, offset: 0 }],
    dataBytes: weights,
  });
  model[model.length - 1] = 7;
  return model;
}

Deno.test("canonicalJson sorts keys at every depth and puts no space", () => {
  assert.equal(
    canonicalJson({ b: [1, { d: null, c: "é" }], a: true, e: undefined }),
    '{"a":true,"b":[1,{"c":"é","d":null}]}',
  );
});

Deno.test("manifest has the digest of every chunk, and its root is that of the canonical form", async () => {
  const bytes = bigModel();
  await using store = storeOver(new MemoryFiles({ "/models/m.gguf": bytes }));
  await store.digested();
  const manifest = await store.manifest("m");
  assert.ok(manifest !== null);
  const chunks = [
    sha256(bytes.subarray(0, CHUNK_BYTES)),
    sha256(bytes.subarray(CHUNK_BYTES)),
  ];
  const file = { sizeBytes: bytes.length, sha256: sha256(bytes), chunks };
  const root = sha256(
    `{"files":[{"chunks":${
      JSON.stringify(chunks)
    },"sha256":"${file.sha256}","sizeBytes":${bytes.length}}],"version":1}`,
  );
  assert.deepEqual(manifest, {
    model: "m",
    root,
    files: [{ name: "m.gguf", ...file }],
    architecture: "llama",
    contextLength: 4_096,
    quantisation: "Q4_K_M",
  });
  assert.equal(store.list()[0]?.root, root);
  const second = await store.readChunk("m", 0, 1);
  assert.deepEqual(second, bytes.slice(CHUNK_BYTES));
  for (const [at, chunk] of [[0, 2], [0, -1], [0, NaN], [1, 0]] as const) {
    assert.equal(await store.readChunk("m", at, chunk), null);
  }
});

Deno.test("equal weights have one root whatever they are called, others have another", async () => {
  const files = new MemoryFiles({
    "/models/a.gguf": buildModel(),
    "/models/b.gguf": buildModel(),
    "/models/c.gguf": bigModel(),
  });
  await using store = storeOver(files);
  await store.digested();
  const [a, b, c] = store.list().map(({ root }) => root);
  assert.equal(a, b);
  assert.notEqual(a, c);
  assert.match(`${a}`, /^[0-9a-f]{64}$/);
});

Deno.test("roots are recalled after a restart without reading the weights, unless what is kept is unsound", async () => {
  const files = new MemoryFiles({ "/models/m.gguf": buildModel() });
  let root: string | null | undefined;
  {
    await using store = storeOver(files);
    await store.digested();
    root = store.list()[0]?.root;
  }
  let opened = 0;
  const open = files.open.bind(files);
  files.open = (path) => {
    opened++;
    return open(path);
  };
  {
    await using store = storeOver(files);
    await store.refresh();
    assert.equal(store.list()[0]?.root, root);
    await store.digested();
    assert.equal(opened, 1, "the header alone");
  }
  const [kept] = await files.list("/data/manifests");
  for (const text of ["", "{", "[]", '{"key":"x"}']) {
    await files.writeAtomic(`/data/manifests/${kept?.name}`, text, 0o600);
    await using store = storeOver(files);
    await store.digested();
    assert.equal(store.list()[0]?.root, root, text);
  }
});

Deno.test("a model has no root while its digest can not be kept, and is offered all the same", async () => {
  const files = new MemoryFiles({ "/models/m.gguf": buildModel() });
  files.failWrites = "full";
  const log = new QuietLog();
  await using store = storeOver(files, log);
  await store.digested();
  assert.deepEqual(store.list().map(({ root }) => root), [null]);
  assert.equal(await store.manifest("m"), null);
  assert.deepEqual(
    log.lines.filter(({ level }) => level === "warn").map(({ message }) =>
      message
    ),
    ["Failed to digest a model"],
  );
});
