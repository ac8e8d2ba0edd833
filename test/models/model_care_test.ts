import assert from "node:assert/strict";
import type { FaultCode } from "../../src/domain/mod.ts";
import { createModelStore } from "../../src/models/model_store.ts";
import { FileError, ManualClock, MemoryFiles } from "../../src/platform/mod.ts";
import { buildModel } from "../fakes/gguf_builder.ts";
import { QuietLog } from "../fakes/quiet_log.ts";

const NEVER = new AbortController().signal;
const silent = () => {};

async function storeOver(files: MemoryFiles, used: readonly string[] = []) {
  const store = createModelStore({
    files,
    clock: new ManualClock(),
    log: new QuietLog(),
    modelsDir: "/models",
    manifestsDir: "/data/manifests",
    isUsed: (model) => used.includes(model),
  });
  await store.digested();
  return store;
}

const fault = (code: FaultCode, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof Error && "code" in error, String(error));
  assert.equal(error.code, code);
  assert.match(error.message, message);
  assert.doesNotMatch(error.message, /\/models|\/data/);
  return true;
};

Deno.test("verify finds a model sound until a byte of it changes", async () => {
  const bytes = buildModel();
  const files = new MemoryFiles({ "/models/m.gguf": bytes });
  await using store = await storeOver(files);
  const told: number[] = [];
  const sound = await store.verify("m", (done) => told.push(done), NEVER);
  assert.deepEqual([sound, told], [{ kind: "sound" }, [0]]);
  bytes[bytes.length - 1] = 0xff;
  await files.writeAtomic("/models/m.gguf", bytes, 0o600);
  assert.deepEqual(await store.verify("m", silent, NEVER), {
    kind: "damaged",
    files: [{
      name: "m.gguf",
      problem: "1 of 1 chunks differ from the manifest",
    }],
  });
  await files.writeAtomic("/models/m.gguf", bytes.slice(0, -1), 0o600);
  const short = await store.verify("m", silent, NEVER);
  assert.ok(short.kind === "damaged");
  assert.match(`${short.files[0]?.problem}`, /bytes instead of/);
});

Deno.test("verify says why it can not", async () => {
  const files = new MemoryFiles({ "/models/m.gguf": buildModel() });
  await using store = await storeOver(files);
  await assert.rejects(
    store.verify("../m", silent, NEVER),
    fault("model_not_found", /no model "\.\.\/m"/),
  );
  await files.remove("/data/manifests");
  await assert.rejects(
    store.verify("m", silent, NEVER),
    fault("conflict", /no manifest yet/),
  );
});

Deno.test("remove takes a model away with its digests, at once and for good", async () => {
  const files = new MemoryFiles({
    "/models/m.gguf": buildModel(),
    "/models/n.gguf": buildModel(),
  });
  await using store = await storeOver(files);
  await store.remove("m");
  assert.deepEqual(store.list().map(({ name }) => name), ["n"]);
  assert.equal((await files.list("/models")).length, 1);
  assert.equal((await files.list("/data/manifests")).length, 1);
});

Deno.test("remove takes the folders along that it leaves empty, and no other", async () => {
  const files = new MemoryFiles({
    "/models/org/one/m.gguf": buildModel(),
    "/models/org/two/n.gguf": buildModel(),
    "/models/org/two/README.md": "Read me",
    "/models/lone/o/o.gguf": buildModel(),
  });
  await using store = await storeOver(files);
  for (const name of ["m", "n", "o"]) await store.remove(name);
  const names = async (folder: string) =>
    (await files.list(folder)).map(({ name }) => name);
  assert.deepEqual(await names("/models"), ["org"]);
  assert.deepEqual(await names("/models/org"), ["two"]);
  assert.deepEqual(await names("/models/org/two"), ["README.md"]);
});

Deno.test("remove refuses a model that is in use, that is not here, and where the folder may not be changed (DLD-06)", async () => {
  const files = new MemoryFiles({
    "/models/busy.gguf": buildModel(),
    "/models/m.gguf": buildModel(),
  });
  await using store = await storeOver(files, ["busy"]);
  await assert.rejects(store.remove("busy"), fault("conflict", /in use/));
  await assert.rejects(store.remove(""), fault("model_not_found", /no model/));
  files.remove = (path) =>
    Promise.reject(new FileError("read_only", path, "remove", undefined));
  await assert.rejects(
    store.remove("m"),
    fault("storage_failed", /read-only file system; set COVEY_MODELS_DIR/),
  );
  assert.deepEqual(store.list().map(({ name }) => name), ["busy", "m"]);
});

Deno.test("partials names what did not come whole, with its size and age, and follows no link", async () => {
  const files = new MemoryFiles({
    "/models/.partial/pull-1/a.part": "12345",
    "/models/.partial/pull-1/b.part": "1",
    "/models/.copies/root/0.part": "123",
    "/models/.other/x": "1",
  });
  await files.makeFolder("/models/.partial/empty", 0o700);
  const store = await storeOver(files);
  await using _store = store;
  const stat = files.stat.bind(files);
  files.stat = async (path) => ({
    ...await stat(path),
    modifiedMs: new ManualClock().now() - (path.endsWith("b.part") ? 5 : 9),
  });
  const pull = { of: "pull" as const, path: ".partial/pull-1" };
  const copy = { of: "copy" as const, path: ".copies/root" };
  const empty = { of: "pull" as const, path: ".partial/empty" };
  assert.deepEqual(await store.partials?.(), [
    { ...empty, sizeBytes: 0, idleMs: null },
    { ...pull, sizeBytes: 6, idleMs: 5 },
    { ...copy, sizeBytes: 3, idleMs: 9 },
  ]);
  const list = files.list.bind(files);
  files.list = async (path) =>
    (await list(path)).map((entry) => ({ ...entry, kind: "link" }));
  assert.deepEqual(await store.partials?.(), []);
});
