import assert from "node:assert/strict";
import { createSeededEntropy, MemoryFiles } from "../../src/platform/mod.ts";
import {
  CLIENT_KEYS_FILE,
  ClientKeysError,
  loadClientKeys,
} from "../../src/store/client_keys.ts";

const PATH = `/data/${CLIENT_KEYS_FILE}`;

function load(files: MemoryFiles, seed = 1) {
  return loadClientKeys({
    files,
    entropy: createSeededEntropy(seed),
    nowMs: () => 1_700_000_000_000,
    dataDir: "/data",
  });
}

Deno.test("loadClientKeys keeps hashes alone, and knows its keys after a restart", async () => {
  const files = new MemoryFiles({ "/data/x": "" });
  const keys = await load(files);
  assert.equal(await keys.find("anything"), null);
  const laptop = await keys.add("laptop", false);
  const ops = await keys.add("ops", true);
  assert.match(laptop, /^covey_[A-Za-z0-9_-]{43}$/);
  const text = await files.readText(PATH);
  assert.ok(!text.includes(laptop.slice(6)) && !text.includes(ops.slice(6)));

  const again = await load(files, 2);
  assert.deepEqual(again.list().map(({ name, admin }) => [name, admin]), [
    ["laptop", false],
    ["ops", true],
  ]);
  assert.equal((await again.find(laptop))?.name, "laptop");
  assert.equal((await again.find(ops))?.admin, true);
  for (const other of ["", "covey_", `${laptop}x`, laptop.slice(0, -1)]) {
    assert.equal(await again.find(other), null);
  }
});

Deno.test("revoke counts at once and for good, and only for that name", async () => {
  const files = new MemoryFiles({ "/data/x": "" });
  const keys = await load(files);
  const [a, b] = await Promise.all([keys.add("a", false), keys.add("b", true)]);
  assert.equal(await keys.revoke("nobody"), false);
  assert.equal(await keys.revoke("a"), true);
  assert.equal(await keys.find(a), null);
  assert.equal((await keys.find(b))?.name, "b");
  const again = await load(files);
  assert.equal(await again.find(a), null);
  assert.equal((await again.find(b))?.name, "b");
});

Deno.test("a change that could not be written did not happen", async () => {
  const files = new MemoryFiles({ "/data/x": "" });
  const keys = await load(files);
  const a = await keys.add("a", false);
  files.failWrites = "full";
  await assert.rejects(keys.add("b", false), /no space left/);
  await assert.rejects(keys.revoke("a"), /no space left/);
  files.failWrites = null;
  assert.deepEqual(keys.list().map(({ name }) => name), ["a"]);
  assert.equal((await keys.find(a))?.name, "a");
  await keys.add("b", false);
});

Deno.test("add refuses names that can not be had", async () => {
  const keys = await load(new MemoryFiles({ "/data/x": "" }));
  await keys.add("a", false);
  for (const name of ["a", "", "-x", "a/b", "a b", "x".repeat(64), "ä"]) {
    await assert.rejects(keys.add(name, false), ClientKeysError, name);
  }
});

Deno.test("loadClientKeys refuses a torn file by its name and leaves it as it is", async () => {
  const whole = '{"keys":[{"name":"a","admin":false,"createdAtMs":1,' +
    `"sha256":"${"0".repeat(64)}"}]}`;
  const torn = [
    "",
    whole.slice(0, -2),
    "{}",
    "[]",
    "null",
    whole.replace("false", '"no"'),
    whole.replace("00", "zz"),
    "\0".repeat(100),
  ];
  for (const text of torn) {
    const files = new MemoryFiles({ [PATH]: text });
    await assert.rejects(load(files), (error: Error) => {
      assert.ok(error instanceof ClientKeysError);
      assert.match(error.message, /\/data\/client_keys\.json.*damaged/);
      return true;
    }, text);
    assert.equal(await files.readText(PATH), text);
  }
  const keys = await load(new MemoryFiles({ [PATH]: whole }));
  assert.equal(keys.list().length, 1);
});
