import assert from "node:assert/strict";
import type { CardReport } from "../../src/engines/card_report.ts";
import {
  CardWatch,
  type CardWatchOptions,
} from "../../src/engines/embedded/card_watch.ts";
import { packageFolder } from "../../src/engines/packs/packs_folder.ts";
import { PACKS } from "../../src/engines/packs/pack_table.ts";
import { MemoryFiles } from "../../src/platform/mod.ts";

const GIB = 2 ** 30;
const REPORT: CardReport = {
  gpu: "vulkan",
  layers: 33,
  usedBytes: 4 * GIB,
  totalBytes: 16 * GIB,
  freeBytes: 10 * GIB,
  isShared: false,
};

async function watching(
  packs: readonly ("vulkan" | "cuda")[],
  changes: Partial<CardWatchOptions> = {},
) {
  const files = new MemoryFiles(Object.fromEntries(
    PACKS.filter(({ name }) => packs.includes(name))
      .flatMap(({ packages }) => packages)
      .map(({ name }) => [`${packageFolder("/packs", name)}/package.json`, ""]),
  ));
  const looks = { count: 0 };
  const watch = new CardWatch({
    files,
    gpu: "auto",
    packsDir: "/packs",
    lookAtCards() {
      looks.count++;
      return Promise.resolve();
    },
    ...changes,
  });
  await watch.look();
  return { files, looks, watch };
}

const makers = (watch: CardWatch) =>
  (["nvidia", "amd", "intel"] as const).filter((one) => watch.computesOn(one));

Deno.test("CardWatch knows by the packs that were added whose cards are used", async () => {
  const none = await watching([]);
  assert.deepEqual(makers(none.watch), []);
  assert.equal(none.looks.count, 0);
  const cuda = await watching(["cuda"]);
  assert.deepEqual(makers(cuda.watch), ["nvidia"]);
  assert.equal(cuda.looks.count, 1);
  assert.deepEqual(makers((await watching(["vulkan"])).watch), [
    "nvidia",
    "amd",
    "intel",
  ]);
});

Deno.test("CardWatch counts no card that is off, shared, or another server's", async () => {
  const seen = { totalBytes: 16 * GIB, freeBytes: 16 * GIB };
  for (
    const changes of [
      { gpu: "off" },
      { sharesMemoryWithCard: true },
      { serverProgram: "/usr/bin/llama-server" },
    ] as const
  ) {
    const { watch } = await watching(["vulkan"], {
      ...changes,
      cardMemory: () => seen,
    });
    watch.hear(REPORT, 0);
    assert.deepEqual([makers(watch), watch.totalBytes, watch.freeBytes(0)], [
      [],
      0,
      0,
    ]);
  }
});

Deno.test("CardWatch believes sensors, less what llama.cpp leaves alone", async () => {
  const seen = { totalBytes: 10 * GIB, freeBytes: 5 * GIB };
  const { watch } = await watching(["cuda"], { cardMemory: () => seen });
  assert.equal(Math.round(watch.totalBytes / GIB * 100), 920);
  assert.equal(Math.round(watch.freeBytes(0) / GIB * 100), 420);
  // What own models hold is in what the sensor saw already.
  assert.equal(watch.freeBytes(3 * GIB), watch.freeBytes(0));
});

Deno.test("CardWatch takes a process's word for cards that no sensor knows", async () => {
  const { watch } = await watching(["vulkan"], { cardMemory: () => null });
  assert.equal(watch.freeBytes(0), 0);
  // 16 GiB, of which others hold 2: the model that speaks holds 4.
  watch.hear(REPORT, 4 * GIB);
  const reserved = 16 * 0.08 * GIB;
  assert.equal(watch.freeBytes(4 * GIB), 10 * GIB - reserved);
  assert.equal(watch.freeBytes(0), 14 * GIB - reserved);
  assert.deepEqual(watch.said(4 * GIB), {
    totalBytes: 16 * GIB,
    freeBytes: 10 * GIB,
  });
  // One that says nothing changes nothing.
  watch.hear(undefined, 0);
  assert.equal(watch.freeBytes(0), 14 * GIB - reserved);
  watch.hear({ ...REPORT, isShared: true }, 4 * GIB);
  assert.deepEqual([watch.freeBytes(0), makers(watch)], [0, []]);
  assert.equal(watch.said(0), null);
});

Deno.test("CardWatch forgets what a process said once packs come or go", async () => {
  const { files, watch } = await watching(["vulkan"]);
  // The library is here, and its driver is not.
  watch.hear(null, 0);
  assert.deepEqual(makers(watch), []);
  await watch.look();
  assert.deepEqual(makers(watch), []);
  const [cuda = assert.fail()] = PACKS.filter(({ name }) => name === "cuda");
  for (const { name } of cuda.packages) {
    const folder = packageFolder("/packs", name);
    await files.makeFolder(folder, 0o755);
    await files.writeAtomic(`${folder}/package.json`, "{}", 0o644);
  }
  await watch.look();
  assert.ok(makers(watch).includes("nvidia"));
});
