import assert from "node:assert/strict";
import { MemoryFiles } from "@covey/core/platform";
import { QuietLog } from "../../../test/fakes/quiet_log.ts";
import {
  MemberStore,
  type SavedMembers,
} from "../../src/membership/member_store.ts";
import { keyOf, rowOf } from "./rows.ts";

function storeOn(
  files: MemoryFiles,
  clusterId = "one",
  previousClusterId: string | null = null,
) {
  const log = new QuietLog();
  const store = new MemberStore({
    files,
    log,
    stateDir: "/state",
    clusterId,
    previousClusterId,
  });
  return { log, store };
}

const SAVED: SavedMembers = {
  door: { count: 3, state: "closed", rotation: 1 },
  rotation: 1,
  rows: [rowOf(1), rowOf(2)],
  addresses: new Map([[keyOf(2), [{ host: "192.0.2.2", port: 11412 }]]]),
};

async function savedFiles(): Promise<MemoryFiles> {
  const files = new MemoryFiles();
  await using store = storeOn(files).store;
  store.save({ ...SAVED, rows: [], addresses: new Map() });
  store.save(SAVED);
  return files;
}

async function onlyFile(files: MemoryFiles): Promise<string> {
  const [first] = await files.list("/state");
  return `/state/${first?.name}`;
}

Deno.test("MemberStore loads what was saved last, in a file that does not name the cluster", async () => {
  const files = await savedFiles();
  assert.deepEqual(await storeOn(files).store.load(), SAVED);
  assert.match(await onlyFile(files), /members-[0-9a-f]{16}\.json$/);
});

Deno.test("MemberStore starts empty under another secret, keeps the old file and says so", async () => {
  const files = await savedFiles();
  const { log, store } = storeOn(files, "two");
  assert.deepEqual((await store.load()).rows, []);
  assert.match(log.lines[0]?.message ?? "", /other clusters are set aside/);
  assert.deepEqual(await storeOn(files).store.load(), SAVED);
});

Deno.test("MemberStore carries the table over when the secret is rotated", async () => {
  const files = await savedFiles();
  const { store } = storeOn(files, "two", "one");
  assert.deepEqual(await store.load(), { ...SAVED, rotation: 2 });
});

Deno.test("MemberStore sets a damaged file aside, says so and starts with nothing (IDN-06)", async () => {
  const whole = await (async () => {
    const files = await savedFiles();
    return await files.readText(await onlyFile(files));
  })();
  const damaged = [
    "",
    whole.slice(0, whole.length / 2),
    "\0".repeat(200),
    "[]",
    whole.replace("member", "mumble"),
  ];
  for (const text of damaged) {
    const files = await savedFiles();
    const path = await onlyFile(files);
    await files.writeAtomic(path, text, 0o600);
    const { log, store } = storeOn(files);
    assert.deepEqual((await store.load()).rows, []);
    assert.equal(await files.readText(`${path}.corrupt`), text);
    assert.ok(log.lines.some(({ level }) => level === "warn"));
  }
});

Deno.test("MemberStore keeps going when the disk is full", async () => {
  const files = await savedFiles();
  files.failWrites = "full";
  const { log, store } = storeOn(files);
  store.save({ ...SAVED, rows: [], addresses: new Map() });
  await store[Symbol.asyncDispose]();
  assert.ok(log.lines.some(({ level }) => level === "error"));
  files.failWrites = null;
  assert.deepEqual(await storeOn(files).store.load(), SAVED);
});
