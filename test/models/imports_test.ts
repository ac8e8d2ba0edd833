import assert from "node:assert/strict";
import { createImports } from "../../src/models/import/imports.ts";
import { createModelStore } from "../../src/models/model_store.ts";
import { createDenoFiles, ManualClock } from "../../src/platform/mod.ts";
import { buildGguf, buildModel } from "../fakes/gguf_builder.ts";
import { sha256Of } from "../fakes/hub_server.ts";
import { QuietLog } from "../fakes/quiet_log.ts";

const FOREVER = new AbortController().signal;

async function importing(
  prepare: (folder: string) => Promise<void>,
  test: (
    outcome: Awaited<
      ReturnType<ReturnType<typeof createImports>["importFolder"]>
    >,
    root: string,
    names: readonly string[],
  ) => Promise<void>,
) {
  const root = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${root}/from`);
    await prepare(`${root}/from`);
    const files = createDenoFiles(() => "test");
    const log = new QuietLog();
    const modelsDir = `${root}/models`;
    await using store = createModelStore({
      files,
      clock: new ManualClock(),
      log,
      modelsDir,
      manifestsDir: `${root}/manifests`,
    });
    const imports = createImports({ files, log, store, modelsDir });
    const outcome = await imports.importFolder(`${root}/from`, FOREVER);
    await test(outcome, root, store.list().map(({ name }) => name));
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

async function ollamaManifest(
  folder: string,
  path: string,
  digest: string,
): Promise<void> {
  const full = `${folder}/models/manifests/${path}`;
  await Deno.mkdir(full.slice(0, full.lastIndexOf("/")), { recursive: true });
  await Deno.writeTextFile(
    full,
    JSON.stringify({
      schemaVersion: 2,
      layers: [
        { mediaType: "application/vnd.ollama.image.license", digest: "x" },
        {
          mediaType: "application/vnd.ollama.image.model",
          digest: `sha256:${digest}`,
        },
      ],
    }),
  );
}

Deno.test("a store of Ollama is taken over by its names, and no byte lies there twice", async () => {
  const bytes = buildModel();
  const digest = sha256Of(bytes);
  await importing(async (folder) => {
    await Deno.mkdir(`${folder}/models/blobs`, { recursive: true });
    await Deno.writeFile(`${folder}/models/blobs/sha256-${digest}`, bytes);
    const tagged = "registry.ollama.ai/library/qwen3/0.6b";
    await ollamaManifest(folder, tagged, digest);
    const foreign = "registry.ollama.ai/ada/tuned/latest";
    await ollamaManifest(folder, foreign, digest);
    await ollamaManifest(folder, "h/library/gone/latest", "0".repeat(64));
    await ollamaManifest(folder, "h/library/evil/latest", "../../../etc");
    await Deno.writeTextFile(`${folder}/models/manifests/notes`, "no JSON");
  }, async (outcome, root, names) => {
    assert.deepEqual(outcome, {
      imported: [
        { model: "ada-tuned", shared: true },
        { model: "qwen3-0.6b", shared: true },
      ],
      skipped: [{ model: "h-gone", reason: "Its file can not be read" }],
    });
    assert.deepEqual(names, ["ada-tuned", "qwen3-0.6b"]);
    const blob = await Deno.stat(
      `${root}/from/models/blobs/sha256-${digest}`,
    );
    const taken = await Deno.stat(`${root}/models/imported/qwen3-0.6b.gguf`);
    assert.equal(taken.ino, blob.ino);
  });
});

Deno.test("a cache of Hugging Face is taken over through its links, split models whole (GGF-01, GGF-04)", async () => {
  const bytes = buildModel();
  await importing(async (folder) => {
    const repo = `${folder}/models--org--m`;
    await Deno.mkdir(`${repo}/blobs`, { recursive: true });
    await Deno.mkdir(`${repo}/snapshots/abc`, { recursive: true });
    await Deno.writeFile(`${repo}/blobs/1`, bytes);
    const link = (name: string) =>
      Deno.symlink("../../blobs/1", `${repo}/snapshots/abc/${name}`);
    await link("m-Q4_K_M.gguf");
    await link("s-00001-of-00002.gguf");
    await Deno.symlink("nowhere", `${repo}/snapshots/abc/gone.gguf`);
    await Deno.writeTextFile(`${repo}/snapshots/abc/fake.gguf`, "no model");
  }, async (outcome, root, names) => {
    assert.deepEqual(outcome.imported, [{ model: "m-Q4_K_M", shared: true }]);
    const [fake, gone, split, ...others] = outcome.skipped;
    assert.deepEqual([fake?.model, gone?.model, others], ["fake", "gone", []]);
    assert.deepEqual(split, {
      model: "s",
      reason: "Parts are missing (2 of 2)",
    });
    assert.deepEqual(names, ["m-Q4_K_M"]);
    const path = `${root}/models/imported/m-Q4_K_M.gguf`;
    assert.equal((await Deno.lstat(path)).isSymlink, false);
    const blob = await Deno.stat(`${root}/from/models--org--m/blobs/1`);
    assert.equal((await Deno.stat(path)).ino, blob.ino);
  });
});

Deno.test("a vision part comes along in a folder of its model's own, and goes with it", async () => {
  const root = await Deno.makeTempDir();
  try {
    const vision = buildGguf({
      pairs: [["general.architecture", { text: "clip" }]],
      tensors: [{ name: "v", dimensions: [8], type: 24, offset: 0 }],
      dataBytes: 8,
    });
    await Deno.mkdir(`${root}/from/org/see`, { recursive: true });
    await Deno.mkdir(`${root}/models`);
    await Deno.writeFile(`${root}/from/org/see/see-Q4_0.gguf`, buildModel());
    await Deno.writeFile(`${root}/from/org/see/mmproj-F16.gguf`, vision);
    await Deno.writeFile(`${root}/models/mmproj-alone.gguf`, vision);
    const files = createDenoFiles(() => "test");
    const log = new QuietLog();
    const modelsDir = `${root}/models`;
    await using store = createModelStore({
      files,
      clock: new ManualClock(),
      log,
      modelsDir,
      manifestsDir: `${root}/manifests`,
    });
    const places = [
      { program: "LM Studio", folder: `${root}/from` },
      { program: "Ollama", folder: `${root}/none` },
    ];
    const imports = createImports({ files, log, store, modelsDir, places });
    const outcome = await imports.importFound(FOREVER);
    assert.deepEqual(outcome, {
      imported: [{ model: "see-Q4_0", shared: true }],
      skipped: [],
      programs: ["LM Studio"],
    });
    const folder = `${root}/models/imported/see-Q4_0`;
    const names = (await files.list(folder)).map(({ name }) => name);
    assert.deepEqual(names, ["mmproj-F16.gguf", "see-Q4_0.gguf"]);
    assert.deepEqual(store.list().map(({ name }) => name), ["see-Q4_0"]);
    assert.deepEqual(store.invalid().map(({ name }) => name), [
      "mmproj-alone",
    ]);
    await store.remove("see-Q4_0");
    const left = (await files.list(modelsDir)).map(({ name }) => name);
    assert.deepEqual(left, ["mmproj-alone.gguf"]);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("an import is refused where the folder is none, and writes through no link", async () => {
  const root = await Deno.makeTempDir();
  try {
    const files = createDenoFiles(() => "test");
    const modelsDir = `${root}/models`;
    const store = { list: () => [], refresh: () => Promise.resolve() };
    const log = new QuietLog();
    const imports = createImports({ files, log, store, modelsDir });
    for (
      const [folder, reason] of [
        ["relative", /absolute path/],
        [`${root}/models/x`, /offered already/],
        [`${root}/none`, /went away|no such/],
      ] as const
    ) {
      await assert.rejects(imports.importFolder(folder, FOREVER), reason);
    }
    await Deno.mkdir(`${root}/from`);
    await Deno.mkdir(`${root}/elsewhere`);
    await Deno.writeFile(`${root}/from/m.gguf`, buildModel());
    await Deno.mkdir(modelsDir);
    await Deno.symlink(`${root}/elsewhere`, `${modelsDir}/imported`);
    await assert.rejects(
      imports.importFolder(`${root}/from`, FOREVER),
      /is no folder: move it away/,
    );
    assert.deepEqual(await files.list(`${root}/elsewhere`), []);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("one manifest that can not be read, and one file that is in the way, hide no other model of a store (DLD-06)", async () => {
  const bytes = buildModel();
  await importing(async (folder) => {
    const digest = sha256Of(bytes);
    await Deno.mkdir(`${folder}/models/blobs`, { recursive: true });
    await Deno.writeFile(`${folder}/models/blobs/sha256-${digest}`, bytes);
    const library = "registry.ollama.ai/library";
    for (const path of ["blocked/latest", "tiny/latest"]) {
      await ollamaManifest(folder, `${library}/${path}`, digest);
    }
    const lost = `${folder}/models/manifests/${library}/lost`;
    await Deno.mkdir(lost);
    await Deno.symlink("nowhere", `${lost}/latest`);
    const imported = `${folder}/../models/imported`;
    await Deno.mkdir(imported, { recursive: true });
    await Deno.writeTextFile(`${imported}/blocked.gguf`, "half a model");
  }, async (outcome, root, names) => {
    assert.deepEqual(outcome.imported, [{ model: "tiny", shared: true }]);
    assert.deepEqual(outcome.skipped, [
      {
        model: "blocked",
        reason: "A file of that name lies here already, and is no usable model",
      },
      { model: "lost", reason: "Its manifest can not be read" },
    ]);
    assert.deepEqual(names, ["tiny"]);
    assert.equal(
      await Deno.readTextFile(`${root}/models/imported/blocked.gguf`),
      "half a model",
    );
  });
});

Deno.test("a link that leads elsewhere once it was looked at brings nothing in (GGF-04)", async () => {
  const root = await Deno.makeTempDir();
  try {
    const modelsDir = `${root}/models`;
    await Deno.mkdir(`${root}/from`);
    await Deno.writeFile(`${root}/good`, buildModel());
    await Deno.writeTextFile(`${root}/private`, "not for others");
    await Deno.symlink(`${root}/good`, `${root}/from/m.gguf`);
    const real = createDenoFiles(() => "test");
    const files = {
      ...real,
      link: async (from: string, to: string) => {
        await Deno.remove(from);
        await Deno.symlink(`${root}/private`, from);
        return await real.link(from, to);
      },
    };
    const store = { list: () => [], refresh: () => Promise.resolve() };
    const log = new QuietLog();
    const imports = createImports({ files, log, store, modelsDir });
    const outcome = await imports.importFolder(`${root}/from`, FOREVER);
    assert.deepEqual(outcome, {
      imported: [],
      skipped: [{ model: "m", reason: "It changed while it was taken over" }],
    });
    assert.deepEqual(await real.list(`${modelsDir}/imported`), []);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
