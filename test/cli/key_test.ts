import assert from "node:assert/strict";
import { keyCommand } from "../../src/cli/mod.ts";
import { LOCK_FILE } from "../../src/domain/mod.ts";
import { createSeededEntropy, MemoryFiles } from "../../src/platform/mod.ts";
import { loadClientKeys } from "../../src/store/client_keys.ts";
import { createFakeContext } from "./fake_context.ts";

const key = keyCommand((files, dataDir) =>
  loadClientKeys({
    files,
    dataDir,
    entropy: createSeededEntropy(1),
    nowMs: () => Date.UTC(2026, 0, 2),
  })
);

Deno.test("key asks the running node and shows what it says", async () => {
  const context = createFakeContext({
    "POST /covey/keys": {
      kind: "answered",
      body: { name: "ops", admin: true, key: "covey_abc" },
    },
    "/covey/keys": {
      kind: "answered",
      body: { keys: [{ name: "ops", admin: true, createdAtMs: 0 }] },
    },
    "DELETE /covey/keys/a%2Fb": {
      kind: "refused",
      status: 404,
      message: 'There is no key "a/b"',
      body: undefined,
    },
  });
  assert.equal(await key.run(["add", "ops", "--admin"], context), 0);
  assert.deepEqual(context.sent[0]?.body, { name: "ops", admin: true });
  assert.equal(await key.run(["list"], context), 0);
  assert.equal(await key.run(["revoke", "a/b"], context), 1);
  assert.deepEqual(context.out, [
    "covey_abc",
    "NAME  SCOPES  MADE\nops   admin   1970-01-01",
  ]);
  assert.deepEqual(context.err, ['There is no key "a/b"']);
});

Deno.test("key works on the data folder while no node runs, and not while one holds it", async () => {
  const files = new MemoryFiles({ "/data/covey.jsonc": "{}" });
  const context = createFakeContext({}, "", files);
  assert.equal(await key.run(["add", "laptop", "--json"], context), 0);
  const made = JSON.parse(context.out[0] ?? "");
  assert.match(made.key, /^covey_/);
  assert.equal(await key.run(["add", "laptop"], context), 1);
  assert.match(context.err[0] ?? "", /"laptop" already/);
  assert.equal(await key.run(["list"], context), 0);
  assert.match(context.out[1] ?? "", /laptop {2}infer, read {2}2026-01-02/);
  {
    using _running = await files.lock(`/data/${LOCK_FILE}`);
    assert.equal(await key.run(["revoke", "laptop"], context), 1);
    assert.equal(context.err[1], "No node answers");
  }
  assert.equal(await key.run(["revoke", "laptop"], context), 0);
  assert.equal(await key.run(["revoke", "laptop"], context), 1);
  assert.match(context.err[2] ?? "", /no key "laptop"/);
});

Deno.test("key says how it is used when it is used otherwise", async () => {
  const context = createFakeContext();
  for (
    const args of [
      [],
      ["add"],
      ["list", "x"],
      ["revoke", "x", "--admin"],
      ["rotate", "x"],
      ["add", "x", "--root"],
    ]
  ) assert.equal(await key.run(args, context), 2, args.join(" "));
  assert.match(context.err.join("\n"), /Usage: covey key add NAME/);
});
