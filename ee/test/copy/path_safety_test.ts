import assert from "node:assert/strict";
import { CHUNK_BYTES, type Cluster, isJsonObject } from "@covey/core/domain";
import {
  createDenoFiles,
  createSeededEntropy,
  MemoryFiles,
} from "@covey/core/platform";
import {
  begunCopies,
  checkPartsFolder,
  isForgotten,
} from "../../src/copy/begun_copies.ts";
import { CopyError } from "../../src/copy/copy_error.ts";
import { FakeLan, TestNode } from "../cluster_fixture.ts";
import { MemoryShelf, MODELS } from "./memory_shelf.ts";

const SIGNAL = new AbortController().signal;

async function copyOf(cluster: Cluster) {
  const answer = await cluster.act("copies", {}, SIGNAL);
  const copies = isJsonObject(answer) ? answer.copies : [];
  return Array.isArray(copies) ? copies.filter(isJsonObject).at(-1) : undefined;
}

Deno.test("a hostile member's names and a full disk end a copy with a reason, without a path, and nothing is published", async () => {
  const lan = new FakeLan();
  const bytes = createSeededEntropy(1).bytes(CHUNK_BYTES + 5);
  const files = new MemoryFiles({ [`${MODELS}/m.gguf`]: bytes });
  const shelf = new MemoryShelf(files);
  await shelf.refresh();
  const list = shelf.list.bind(shelf);
  let name = "m";
  shelf.list = () => list().map((model) => ({ ...model, name }));
  const manifest = shelf.manifest.bind(shelf);
  shelf.manifest = async () => {
    const sound = await manifest("m");
    return sound === null ? null : { ...sound, model: name };
  };
  const one = new TestNode(1, lan, { files, models: shelf });
  const received = new MemoryFiles();
  const other = new MemoryShelf(received);
  const two = new TestNode(2, lan, { files: received, models: other });
  await using first = await one.cluster;
  await using _second = await two.cluster;
  await one.log.until("A member is healthy");
  const root = list()[0]?.root ?? "";
  const failing = async (asked: string) => {
    name = asked;
    await first.act("copy", { model: root, to: ["node-2"] }, SIGNAL);
    for (;;) {
      const copy = await copyOf(first);
      if (copy?.state === "failed") return String(copy.message);
    }
  };
  for (
    const hostile of [
      "../../evil",
      "..",
      "a\0b",
      "CON",
      "x".repeat(300),
      ".copies",
    ]
  ) {
    assert.match(await failing(hostile), /can not be put on disk as/, hostile);
    assert.deepEqual(await received.list("/"), [
      { name: "state", kind: "folder" },
    ]);
  }
  received.failWrites = "full";
  const message = await failing("sound");
  assert.match(message, /The disk of the models folder is full/);
  assert.doesNotMatch(message, /\/models/);
  assert.deepEqual(other.list(), []);
});

Deno.test("copies write through no link that lies where they arrive, and remove nothing behind it", async () => {
  const root = await Deno.makeTempDir({ prefix: "covey-copies-" });
  try {
    const files = createDenoFiles(() => "test");
    const models = `${root}/models`;
    const begun = "ab".repeat(32);
    await Deno.mkdir(`${root}/elsewhere/${begun}`, { recursive: true });
    await Deno.mkdir(models);
    await checkPartsFolder(files, models);
    await Deno.symlink(`${root}/elsewhere`, `${models}/.copies`);
    await assert.rejects(checkPartsFolder(files, models), CopyError);
    assert.deepEqual(await begunCopies(files, models), []);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("isForgotten counts from the last chunk that came, whatever a start writes anew", async () => {
  const begun = "cd".repeat(32);
  const folder = `${MODELS}/.copies/${begun}`;
  const files = new MemoryFiles({
    [`${folder}/0.part`]: "x",
    [`${folder}/manifest.json`]: "{}",
  });
  const day = 24 * 3_600_000;
  const stat = files.stat.bind(files);
  files.stat = async (path) => ({
    ...await stat(path),
    modifiedMs: path.endsWith(".part") ? 0 : 30 * day,
  });
  const at = (days: number) => isForgotten(files, MODELS, begun, days * day);
  assert.deepEqual([await at(6), await at(8)], [false, true]);
});
