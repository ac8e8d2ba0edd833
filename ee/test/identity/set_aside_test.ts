import assert from "node:assert/strict";
import type { NodeId } from "@covey/core/domain";
import { createSeededEntropy, MemoryFiles } from "@covey/core/platform";
import { QuietLog } from "../../../test/fakes/quiet_log.ts";
import { identityCommand } from "../../src/cli/identity.ts";
import type { MachineFacts } from "../../src/identity/machine_facts.ts";
import { loadIdentity } from "../../src/identity/node_identity.ts";
import { createOfflineContext } from "../cli/offline_context.ts";
import { settleIdentity } from "../../src/identity/set_aside.ts";

const NODE_ID = "6b0a1c2e-0000-4000-8000-00000000000a" as NodeId;
const HERE: MachineFacts = {
  board: "serial A1 of a board",
  machineId: null,
  macs: [],
};

/** A data folder with an identity and one member table in it. */
async function foundedFolder() {
  const files = new MemoryFiles({
    "/data/node.json": `{"id":"${NODE_ID}"}\n`,
    "/data/cluster/members-0011.json": "{}",
  });
  const identity = await loadIdentity({
    files,
    entropy: createSeededEntropy(1),
    log: new QuietLog(),
    stateDir: "/data/cluster",
    nodeId: NODE_ID,
    machine: HERE,
  });
  return { files, identity };
}

Deno.test("settleIdentity leaves an identity on its machine, and puts it aside on another one (IDN-01)", async () => {
  const { files } = await foundedFolder();
  const log = new QuietLog();
  const settle = (machine: MachineFacts) =>
    settleIdentity({ files, dataDir: "/data", log, machine });
  await settle(HERE);
  await settle({ ...HERE, board: null });
  assert.equal(log.lines.length, 0);
  const text = await files.readText("/data/cluster/identity.json");
  assert.ok(
    !text.includes("serial A1"),
    "the serial number itself is not kept",
  );

  await settle({ ...HERE, board: "B2" });
  assert.match(
    log.lines[0]?.message ?? "",
    /board serial number.*new identity/,
  );
  const moved = await files.readText("/data/cluster.old-1/identity.json");
  assert.equal(moved, text);
  assert.match(
    await files.readText("/data/cluster.old-1/node.json"),
    /6b0a1c2e/,
  );
  await assert.rejects(files.readText("/data/node.json"));
  await assert.rejects(files.readText("/data/cluster/members-0011.json"));
  // Nothing is left to settle.
  await settle({ ...HERE, board: "B2" });
  assert.equal(log.lines.length, 1);
});

Deno.test("settleIdentity touches no torn file and none without a mark (IDN-06)", async () => {
  for (const text of ["", "{", '{"v":1,"keyHash":"x"}', "\0\0\0"]) {
    const files = new MemoryFiles({ "/data/cluster/identity.json": text });
    const log = new QuietLog();
    await settleIdentity({ files, dataDir: "/data", log, machine: HERE });
    assert.equal(await files.readText("/data/cluster/identity.json"), text);
    assert.equal(log.lines.length, 0);
  }
});

Deno.test("loadIdentity keeps the machine beside an older file's key, and the key itself", async () => {
  const { files, identity } = await foundedFolder();
  const load = (machine: MachineFacts) =>
    loadIdentity({
      files,
      entropy: createSeededEntropy(2),
      log: new QuietLog(),
      stateDir: "/data/cluster",
      nodeId: NODE_ID,
      machine,
    });
  const kept = await files.readText("/data/cluster/identity.json");
  assert.deepEqual(
    await load({ board: null, machineId: null, macs: [] }),
    identity,
  );
  assert.equal(await files.readText("/data/cluster/identity.json"), kept);
  const { machine: _, ...older } = JSON.parse(kept);
  await files.writeAtomic(
    "/data/cluster/identity.json",
    JSON.stringify(older),
    0o600,
  );
  assert.deepEqual(await load(HERE), identity);
  assert.equal(await files.readText("/data/cluster/identity.json"), kept);
});

Deno.test("covey identity reset wants --yes and no running node, and puts all aside", async () => {
  const { files } = await foundedFolder();
  const context = createOfflineContext({ files });
  assert.equal(await identityCommand.run(["reset"], context), 2);
  assert.match(context.err.at(-1) ?? "", /--yes/);
  assert.equal(await identityCommand.run(["forget", "--yes"], context), 2);
  {
    using _running = await files.lock("/data/node.lock");
    assert.equal(await identityCommand.run(["reset", "--yes"], context), 1);
    assert.match(context.err.at(-1) ?? "", /A node runs on "\/data"; stop it/);
    await files.readText("/data/node.json");
  }
  const json = ["reset", "--yes", "--json"];
  assert.equal(await identityCommand.run(json, context), 0);
  assert.deepEqual(JSON.parse(context.out.at(-1) ?? ""), {
    reset: true,
    aside: "/data/cluster.old-1",
  });
  await assert.rejects(files.readText("/data/node.json"));
  await files.readText("/data/cluster.old-1/members-0011.json");
  // A second one has a second place.
  assert.equal(await identityCommand.run(json, context), 0);
  await files.readText("/data/cluster.old-1/node.json");
});
