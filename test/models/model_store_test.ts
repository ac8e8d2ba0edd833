import assert from "node:assert/strict";
import { createModelStore } from "../../src/models/model_store.ts";
import {
  createDenoFiles,
  createSystemClock,
  ManualClock,
  MemoryFiles,
} from "../../src/platform/mod.ts";
import { buildGguf, buildModel } from "../fakes/gguf_builder.ts";
import { QuietLog } from "../fakes/quiet_log.ts";

const MANIFESTS = "/data/manifests";

async function scan(seed: Record<string, string | Uint8Array<ArrayBuffer>>) {
  const files = new MemoryFiles(seed);
  const clock = new ManualClock();
  await using store = createModelStore({
    files,
    clock,
    log: new QuietLog(),
    modelsDir: "/models",
    manifestsDir: MANIFESTS,
  });
  await store.refresh();
  return { models: store.list(), invalid: store.invalid() };
}

Deno.test("createModelStore tells capabilities from headers", async () => {
  const pooling = (type: number) =>
    ["qwen3.pooling_type", { u32: type }] as const;
  const { models, invalid } = await scan({
    "/models/chat.gguf": buildModel(),
    "/models/bert.gguf": buildModel([], "nomic-bert"),
    "/models/pooled.gguf": buildModel([pooling(3)], "qwen3"),
    "/models/unpooled.gguf": buildModel([pooling(0)], "qwen3"),
    "/models/ranker.gguf": buildModel([pooling(4)], "qwen3"),
    "/models/mmproj-f16.gguf": buildModel([], "clip"),
    "/models/lora.gguf": buildModel([["general.type", { text: "adapter" }]]),
    "/models/.hidden.gguf": "x",
    "/models/readme.md": "x",
  });
  assert.deepEqual(
    models.map(({ name, capabilities, features }) => [
      name,
      capabilities.join(),
      features.join(),
    ]),
    [
      ["bert", "embedding", ""],
      ["chat", "chat,completion", "tools,json_schema"],
      ["pooled", "embedding", ""],
      ["ranker", "rerank", ""],
      ["unpooled", "chat,completion", "tools,json_schema"],
    ],
  );
  assert.deepEqual(invalid.map(({ name }) => name), ["lora", "mmproj-f16"]);
});

Deno.test("createModelStore offers only complete split models (GGF-01)", async () => {
  const weights = buildModel([["split.count", { u16: 2 }]]);
  // A later part has tensors and split keys only.
  const part = buildGguf({
    pairs: [["split.count", { u16: 2 }]],
    tensors: [{ name: "t", dimensions: [8], type: 0, offset: 0 }],
    dataBytes: 32,
  });
  const { models, invalid } = await scan({
    "/models/sub/m-00001-of-00002.gguf": weights,
    "/models/sub/m-00002-of-00002.gguf": part,
    "/models/gap-00001-of-00003.gguf": weights,
    "/models/cut-00001-of-00002.gguf": weights,
    "/models/cut-00002-of-00002.gguf": part.slice(0, -8),
    "/models/mixed-00001-of-00003.gguf": weights,
    "/models/mixed-00002-of-00003.gguf": part,
    "/models/mixed-00003-of-00003.gguf": part,
  });
  assert.deepEqual(
    models.map(({ name, path, sizeBytes }) => [name, path, sizeBytes]),
    [[
      "m",
      "/models/sub/m-00001-of-00002.gguf",
      weights.length + part.length,
    ]],
  );
  const reasons = new Map(invalid.map(({ name, reason }) => [name, reason]));
  assert.match(reasons.get("gap") ?? "", /missing \(2, 3 of 3\)/);
  assert.match(reasons.get("cut") ?? "", /Part 2 of 2: .*truncated/);
  assert.match(reasons.get("mixed") ?? "", /renamed or mixed up/);
});

Deno.test("createModelStore lists bad files with a reason and offers good ones (GGF-03)", async () => {
  const odd = `${"n".repeat(240)} 🦆`;
  const { models, invalid } = await scan({
    [`/models/${odd}.gguf`]: buildModel(),
    "/models/two words.gguf": buildModel(),
    "/models/zero.gguf": "",
    "/models/pointer.gguf": "version https://git-lfs.github.com/spec/v1\n",
    "/models/half.gguf": buildModel().slice(0, -200),
    "/models/no-weights.gguf": buildGguf({
      pairs: [
        ["general.architecture", { text: "llama" }],
        ["llama.context_length", { u32: 8 }],
      ],
    }),
    "/models/bare.gguf": buildGguf({ pairs: [] }),
  });
  assert.deepEqual(models.map(({ name }) => name), [odd, "two words"]);
  assert.deepEqual(
    invalid.map(({ name, reason }) => [name, reason.split(/[:,]/)[0]]),
    [
      ["bare", "The header does not say which architecture it is"],
      ["half", "The file is truncated"],
      ["no-weights", "The file has a header but no weights"],
      ["pointer", "The file is a Git LFS pointer"],
      ["zero", "The file is empty"],
    ],
  );
});

Deno.test("createModelStore follows links inside the folder only (GGF-04)", async () => {
  const outside = await Deno.makeTempDir();
  const root = await Deno.makeTempDir();
  try {
    const snapshot = `${root}/models--org--m/snapshots/abc`;
    const blobs = `${root}/models--org--m/blobs`;
    await Deno.mkdir(snapshot, { recursive: true });
    await Deno.mkdir(`${root}/models--org--m/snapshots/def`);
    await Deno.mkdir(blobs);
    const content = buildModel();
    await Deno.writeFile(`${blobs}/0123`, content);
    await Deno.writeFile(`${outside}/secret.gguf`, content);
    await Deno.symlink("../../blobs/0123", `${snapshot}/m.gguf`);
    // A second revision with the same blob is the same model.
    await Deno.symlink(
      "../../blobs/0123",
      `${root}/models--org--m/snapshots/def/m.gguf`,
    );
    await Deno.link(`${blobs}/0123`, `${root}/hard.gguf`);
    await Deno.symlink("nowhere", `${root}/dangling.gguf`);
    await Deno.symlink("loop.gguf", `${root}/loop.gguf`);
    await Deno.symlink("/etc/passwd", `${root}/passwd.gguf`);
    await Deno.symlink(`${outside}/secret.gguf`, `${root}/secret.gguf`);
    await Deno.symlink(outside, `${root}/folder.gguf`);
    await using store = createModelStore({
      files: createDenoFiles(() => "test"),
      clock: createSystemClock(),
      log: new QuietLog(),
      modelsDir: root,
      manifestsDir: `${outside}/manifests`,
    });
    await store.refresh();
    assert.deepEqual(
      store.list().map(({ name, sizeBytes }) => [name, sizeBytes]),
      [["hard", content.length], ["m", content.length]],
    );
    assert.deepEqual(
      store.invalid().map(({ name, reason }) => [name, reason.split(":")[0]]),
      [
        ["dangling.gguf", "The link leads to no file"],
        ["folder.gguf", "The link leads out of the models folder"],
        ["loop.gguf", "The link can not be followed"],
        ["passwd.gguf", "The link leads out of the models folder"],
        ["secret.gguf", "The link leads out of the models folder"],
      ],
    );
    // What a peer is given is what the link leads to.
    assert.deepEqual(await store.readChunk("m", 0, 0), content);
  } finally {
    await Deno.remove(root, { recursive: true });
    await Deno.remove(outside, { recursive: true });
  }
});

Deno.test("createModelStore notices new, changed and vanished files within 10 s, opening only those", async () => {
  const files = new MemoryFiles({ "/models/a.gguf": buildModel() });
  let opened = 0;
  const open = files.open.bind(files);
  files.open = (path) => {
    opened++;
    return open(path);
  };
  const clock = new ManualClock();
  const log = new QuietLog();
  await using store = createModelStore({
    files,
    clock,
    log,
    modelsDir: "/models",
    manifestsDir: MANIFESTS,
  });
  await store.digested();
  await clock.advance(30_000);
  // Once for the header and once for the digest.
  assert.equal(opened, 2);
  await files.writeAtomic("/models/b.gguf", buildModel().slice(0, 99), 0o600);
  await clock.advance(10_000);
  assert.deepEqual(store.invalid().map(({ name }) => name), ["b"]);
  await files.writeAtomic("/models/b.gguf", buildModel(), 0o600);
  await files.remove("/models/a.gguf");
  await clock.advance(10_000);
  assert.deepEqual(store.list().map(({ name }) => name), ["b"]);
  assert.deepEqual(store.invalid(), []);
  await store.digested();
  assert.equal(opened, 5);
  assert.deepEqual(log.lines.map(({ message }) => message), [
    "Found a model",
    "A file is no usable model",
    "Found a model",
    "A model is gone",
  ]);
});

Deno.test("createModelStore is empty and silent when the folder is not there yet", async () => {
  const files = new MemoryFiles();
  const log = new QuietLog();
  await using store = createModelStore({
    files,
    clock: new ManualClock(),
    log,
    modelsDir: "/models",
    manifestsDir: MANIFESTS,
  });
  await store.refresh();
  assert.deepEqual([store.list(), log.lines], [[], []]);
});

Deno.test("createModelStore refuses a second file of the same name", async () => {
  const { models, invalid } = await scan({
    "/models/a/m.gguf": buildModel(),
    "/models/b/m.gguf": buildModel(),
  });
  assert.deepEqual(models.map(({ path }) => path), ["/models/a/m.gguf"]);
  assert.deepEqual(invalid.map(({ name }) => name), ["b/m.gguf"]);
});
