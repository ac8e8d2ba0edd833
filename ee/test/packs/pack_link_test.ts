import assert from "node:assert/strict";
import { createSystemClock, MemoryFiles } from "@covey/core/platform";
import {
  archivePath,
  machinePacks,
  packageOf,
  packOf,
  SOUND,
  tarball,
} from "../../../test/fakes/made_up_pack.ts";
import { FakeLan, TestNode } from "../cluster_fixture.ts";

const SIGNAL = new AbortController().signal;

Deno.test("a node has a pack of a member over the real link, and a member without packs is passed over", async () => {
  const bytes = await tarball(SOUND);
  const one = packageOf(bytes, "@owner/vulkan");
  const pack = packOf(one);
  const clock = createSystemClock();
  const files = new MemoryFiles({
    [archivePath(one)]: bytes,
  });
  const lan = new FakeLan();
  const giver = new TestNode(1, lan, {
    packs: machinePacks(pack, { clock, files }).shelf,
  });
  // A controller takes no seat, so that three nodes need no licence.
  const bare = new TestNode(3, lan, { role: "controller" });
  const two = new TestNode(2, lan);
  await using cluster = await two.cluster;
  await using _giver = await giver.cluster;
  await using _bare = await bare.cluster;
  while (
    cluster.members().filter(({ health }) => health === "healthy").length < 3
  ) {
    await two.log.next();
  }
  const own = machinePacks(
    pack,
    { clock, files: new MemoryFiles() },
    () => cluster.packAllies?.() ?? null,
  );
  const [listed] = await own.care.list(SIGNAL);
  assert.deepEqual(listed?.members, ["node-1"]);
  const added = await own.care.add("vulkan", null, () => {}, SIGNAL);
  assert.deepEqual([added.from, added.pack.state], ["node-1", "installed"]);
});
