import assert from "node:assert/strict";
import { Fault, type FaultCode } from "../../src/domain/mod.ts";
import { createModelStore } from "../../src/models/model_store.ts";
import {
  createDenoFiles,
  ManualClock,
  MemoryFiles,
} from "../../src/platform/mod.ts";
import { buildModel } from "../fakes/gguf_builder.ts";
import { QuietLog } from "../fakes/quiet_log.ts";

const fault = (code: FaultCode) => (error: unknown) =>
  error instanceof Fault && error.code === code;

Deno.test("a second name is the same bytes, has the root at once, and either name can go", async () => {
  const folder = await Deno.makeTempDir({ prefix: "covey-alias-" });
  try {
    await Deno.mkdir(`${folder}/models/deep`, { recursive: true });
    await Deno.writeFile(`${folder}/models/deep/m.gguf`, buildModel());
    await using store = createModelStore({
      files: createDenoFiles(() => "test"),
      clock: new ManualClock(),
      log: new QuietLog(),
      modelsDir: `${folder}/models`,
      manifestsDir: `${folder}/manifests`,
    });
    await store.digested();
    const [model] = store.list();
    assert.notEqual(model?.root, null);
    await store.alias("m", "mine");
    assert.deepEqual(
      store.list().map(({ name, root }) => [name, root]),
      [["m", model?.root], ["mine", model?.root]],
    );
    const inode = async (path: string) =>
      (await Deno.stat(`${folder}/models/${path}`)).ino;
    assert.equal(await inode("mine.gguf"), await inode("deep/m.gguf"));
    await store.alias("m", "mine");
    assert.equal(store.list().length, 2, "nothing to do the second time");
    await store.remove("m");
    assert.deepEqual(store.list().map(({ name }) => name), ["mine"]);
    await store.digested();
    assert.equal(store.list()[0]?.root, model?.root);
    await store.alias("mine", "m");
    await store.remove("mine");
    assert.deepEqual(store.list().map(({ name }) => name), ["m"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a second name of a split model names all parts, and none where one cannot be named", async () => {
  const part = (number: number) => `m-0000${number}-of-00002.gguf`;
  const split = (number: number) =>
    buildModel([
      ["split.no", { u16: number - 1 }],
      ["split.count", { u16: 2 }],
    ]);
  const files = new MemoryFiles({
    [`/models/${part(1)}`]: split(1),
    [`/models/${part(2)}`]: split(2),
    "/models/other.gguf": buildModel(),
  });
  await using store = createModelStore({
    files,
    clock: new ManualClock(),
    log: new QuietLog(),
    modelsDir: "/models",
    manifestsDir: "/data/manifests",
  });
  await store.digested();
  assert.deepEqual(store.list().map(({ name }) => name), ["m", "other"]);
  await store.alias("m", "mine");
  assert.deepEqual(
    store.list().map(({ name }) => name),
    ["m", "mine", "other"],
  );
  await assert.rejects(store.alias("m", "other"), fault("conflict"));
  await assert.rejects(store.alias("gone", "new"), fault("model_not_found"));
  for (
    const name of ["../up", "a/b", ".hidden", "a:b", "", "x-00001-of-00002"]
  ) {
    await assert.rejects(store.alias("m", name), fault("invalid_request"));
  }
  files.failWrites = "denied";
  await assert.rejects(store.alias("m", "new"), fault("storage_failed"));
  files.failWrites = null;
  await store.refresh();
  assert.equal(store.list().length, 3);
});
