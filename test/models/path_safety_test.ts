import assert from "node:assert/strict";
import { createImports } from "../../src/models/import/imports.ts";
import { createModelStore } from "../../src/models/model_store.ts";
import { HubHttp } from "../../src/models/pull/hub_http.ts";
import { createPulls } from "../../src/models/pull/pulls.ts";
import {
  boundFetch,
  createDenoFiles,
  createSeededEntropy,
  createSystemClock,
  explainDenial,
  FileError,
  ManualClock,
  MemoryFiles,
} from "../../src/platform/mod.ts";
import { buildGguf, buildModel } from "../fakes/gguf_builder.ts";
import { type HubServer, startHub } from "../fakes/hub_server.ts";
import { QuietLog } from "../fakes/quiet_log.ts";

const FOREVER = new AbortController().signal;
const FILE = "m-Q4_K_M.gguf";
const MEGABYTE = 1024 * 1024;

/** A folder of the test's, and a small file system in it where the test may mount one. */
async function openDisk(stack: AsyncDisposableStack): Promise<string> {
  const root = await Deno.makeTempDir({ prefix: "covey-disk-" });
  stack.defer(() => Deno.remove(root, { recursive: true }));
  await Deno.mkdir(`${root}/disk`);
  await mount("-t", "tmpfs", "-o", "size=8m", "covey-test", `${root}/disk`);
  stack.defer(() => run("umount", `${root}/disk`));
  return root;
}

async function mount(...args: string[]): Promise<void> {
  await run("mount", ...args);
}

async function run(program: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args })
    .output();
  assert.ok(success, new TextDecoder().decode(stderr));
}

/** Mounting wants root, and a container may forbid it even to root. */
async function whyNoDisk(): Promise<string | null> {
  if (Deno.build.os !== "linux") return "needs tmpfs, which Linux has";
  if (Deno.uid() !== 0) return "needs root to mount a tmpfs";
  const folder = await Deno.makeTempDir({ prefix: "covey-probe-" });
  try {
    await mount("-t", "tmpfs", "-o", "size=1m", "covey-probe", folder);
    await run("umount", folder);
    return null;
  } catch {
    return "may not mount a tmpfs here: run it with CAP_SYS_ADMIN";
  } finally {
    await Deno.remove(folder);
  }
}

const lacking = await whyNoDisk();
const suffix = lacking === null ? "" : ` (skipped: it ${lacking})`;

function bigModel(): Uint8Array<ArrayBuffer> {
  const dataBytes = 12 * MEGABYTE;
  return buildGguf({
    pairs: [
      ["general.architecture", { text: "llama" }],
      ["llama.context_length", { u32: 4_096 }],
    ],
    tensors: [{ name: "t", dimensions: [dataBytes], type: 24, offset: 0 }],
    dataBytes,
  });
}

function nodeOver(modelsDir: string, dataDir: string, hub: HubServer) {
  const files = createDenoFiles(() => "test");
  const clock = createSystemClock();
  const log = new QuietLog();
  const store = createModelStore({
    files,
    clock,
    log,
    modelsDir,
    manifestsDir: `${dataDir}/manifests`,
  });
  const pulls = createPulls({
    files,
    clock,
    entropy: createSeededEntropy(1),
    log,
    http: new HubHttp({
      clock,
      endpoint: hub.origin,
      token: null,
      fetch: boundFetch,
    }),
    store,
    modelsDir,
    listPath: `${dataDir}/pulls.json`,
    pieceBytes: MEGABYTE,
    // The gate before it is not what is tested.
    freeDiskBytes: () => null,
    explain: (error) => explainDenial(files, error, Deno.uid()),
  });
  return {
    log,
    store,
    pulls,
    imports: createImports({ files, log, store, modelsDir }),
    pull: (source: string) => pulls.pull({ source }, () => {}, FOREVER),
    async [Symbol.asyncDispose]() {
      await pulls[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

/** Every file below a folder, without what is hidden. */
async function visible(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { isDirectory, name } of Deno.readDir(folder)) {
    if (name.startsWith(".")) continue;
    if (!isDirectory) found.push(name);
    else found.push(...await visible(`${folder}/${name}`));
  }
  return found.sort();
}

async function namesIn(folder: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(folder)) names.push(name);
  return names.sort();
}

Deno.test({
  name:
    `a disk that fills up ends pulls and imports with a remedy, publishes nothing, and serves what it has${suffix}`,
  ignore: lacking !== null,
  async fn() {
    await using stack = new AsyncDisposableStack();
    const root = await openDisk(stack);
    const big = bigModel();
    await using hub = startHub({ [FILE]: big });
    await Deno.writeFile(`${root}/disk/small.gguf`, buildModel());
    await Deno.mkdir(`${root}/from`);
    await Deno.writeFile(`${root}/from/huge.gguf`, big);
    await using node = nodeOver(`${root}/disk`, root, hub);
    await assert.rejects(node.pull("org/repo"), /the disk is full; make room/);
    await assert.rejects(
      node.imports.importFolder(`${root}/from`, FOREVER),
      /the disk is full; make room/,
    );
    assert.deepEqual(await visible(`${root}/disk`), ["small.gguf"]);
    assert.deepEqual(node.store.list().map(({ name }) => name), ["small"]);
  },
});

Deno.test({
  name:
    `a read-only models folder refuses downloads and offers what it has (DLD-06)${suffix}`,
  ignore: lacking !== null,
  async fn() {
    await using stack = new AsyncDisposableStack();
    const root = await openDisk(stack);
    await using hub = startHub({ [FILE]: buildModel() });
    await Deno.writeFile(`${root}/disk/small.gguf`, buildModel());
    await Deno.mkdir(`${root}/from`);
    await Deno.writeFile(`${root}/from/other.gguf`, buildModel());
    await mount("-o", "remount,ro", `${root}/disk`);
    await using node = nodeOver(`${root}/disk`, root, hub);
    const refused = /read-only file system; set COVEY_MODELS_DIR/;
    await assert.rejects(node.pull("org/repo"), refused);
    await assert.rejects(
      node.imports.importFolder(`${root}/from`, FOREVER),
      refused,
    );
    assert.deepEqual(node.store.list().map(({ name }) => name), ["small"]);
  },
});

Deno.test("one unreadable file hides no other (DLD-06)", async () => {
  const files = new MemoryFiles({
    "/models/closed.gguf": buildModel(),
    "/models/good.gguf": buildModel(),
  });
  const open = files.open.bind(files);
  files.open = (path) =>
    path.endsWith("closed.gguf")
      ? Promise.reject(new FileError("denied", path, "open", undefined))
      : open(path);
  await using store = createModelStore({
    files,
    clock: new ManualClock(),
    log: new QuietLog(),
    modelsDir: "/models",
    manifestsDir: "/data/manifests",
  });
  await store.refresh();
  assert.deepEqual(store.list().map(({ name }) => name), ["good"]);
  assert.deepEqual(store.invalid(), [
    { name: "closed", reason: "The file can not be read" },
  ]);
});

Deno.test("links in the models folder lead no pull, import or clean-up out of it", async () => {
  await using stack = new AsyncDisposableStack();
  const root = await Deno.makeTempDir({ prefix: "covey-links-" });
  stack.defer(() => Deno.remove(root, { recursive: true }));
  const elsewhere = `${root}/elsewhere`;
  await Deno.mkdir(`${root}/from`);
  await Deno.writeFile(`${root}/from/m.gguf`, buildModel());
  await using hub = startHub({ [FILE]: buildModel() });
  for (const name of [".partial", "org", "imported", "org/repo"]) {
    const modelsDir = `${root}/models-${name.replace("/", "-")}`;
    await Deno.mkdir(`${elsewhere}/old`, { recursive: true });
    await Deno.writeTextFile(`${elsewhere}/old/precious`, "x");
    await Deno.utime(`${elsewhere}/old/precious`, 1, 1);
    await Deno.utime(`${elsewhere}/old`, 1, 1);
    await Deno.mkdir(modelsDir);
    if (name === "org/repo") await Deno.mkdir(`${modelsDir}/org`);
    await Deno.symlink(elsewhere, `${modelsDir}/${name}`);
    await using node = nodeOver(modelsDir, root, hub);
    await node.pulls.resume();
    if (name === "imported") {
      await assert.rejects(
        node.imports.importFolder(`${root}/from`, FOREVER),
        /is no folder: move it away/,
      );
    } else {
      await assert.rejects(
        node.pull("org/repo"),
        /in the models folder is a link/,
      );
    }
    assert.deepEqual(await namesIn(elsewhere), ["old"], name);
    assert.deepEqual(node.store.list(), []);
  }
});

Deno.test("names that a hub or a folder may give lead nowhere: dots, NUL, reserved names, 300 characters", async () => {
  await using stack = new AsyncDisposableStack();
  const root = await Deno.makeTempDir({ prefix: "covey-names-" });
  stack.defer(() => Deno.remove(root, { recursive: true }));
  const modelsDir = `${root}/models`;
  await Deno.mkdir(modelsDir);
  await Deno.mkdir(`${root}/from`);
  const hostile = [
    "..gguf",
    "a/.hidden.gguf",
    "nul.gguf",
    "com1.x.gguf",
    "a\0b.gguf",
    "a\nb.gguf",
    "a\\..\\b.gguf",
    `${"x".repeat(300)}.gguf`,
    "trailing .gguf/x .gguf:s.gguf",
  ];
  for (const path of hostile) {
    await using hub = startHub({ [path]: buildModel() });
    await using node = nodeOver(modelsDir, root, hub);
    await assert.rejects(
      node.pull("org/repo"),
      /name is unsafe here/,
      JSON.stringify(path),
    );
    assert.deepEqual(await visible(modelsDir), []);
  }
  // Of a repository's path only the last step is kept.
  await using hub = startHub({ "../../../m-Q8_0.gguf": buildModel() });
  await using node = nodeOver(modelsDir, root, hub);
  await node.pull("org/repo").catch(() => {});
  assert.deepEqual(
    await namesIn(root),
    ["from", "models", "pulls.json"],
  );
  for (const name of ["nul.gguf", "a\\b.gguf", "a:b.gguf"]) {
    await Deno.writeFile(`${root}/from/${name}`, buildModel());
  }
  const outcome = await node.imports.importFolder(`${root}/from`, FOREVER);
  assert.deepEqual(outcome.imported, []);
  assert.deepEqual(
    new Set(outcome.skipped.map(({ reason }) => reason)),
    new Set(["Its name is unsafe here"]),
  );
});
