import assert from "node:assert/strict";
import { createSeededEntropy, MemoryFiles } from "@covey/core/platform";
import {
  archivePath,
  machinePacks,
  packageOf,
  packOf,
  SOUND,
  tarball,
} from "../../../test/fakes/made_up_pack.ts";
import { makeIssuer } from "../licence/issuer.ts";
import { type LanHost, TestLan } from "../lan/test_lan.ts";
// Loaded beforehand: that takes real time.
import "modern-tar";
import "../../src/packs/member_giver.ts";
import "../../src/packs/pack_sender.ts";

const SIGNAL = new AbortController().signal;
/** Three pieces, since chance does not compress. */
const BYTES = await tarball([...SOUND, {
  name: "package/bins/big.so",
  body: createSeededEntropy(5).bytes(2_500_000),
}]);
const PACKAGE = packageOf(BYTES, "@owner/vulkan");
const PACK = packOf(PACKAGE);
const ARCHIVE = archivePath(PACKAGE);

/** A LAN of which all hosts but the last have an archive, and the last one's packs. */
async function pool(
  stack: AsyncDisposableStack,
  archives: readonly Uint8Array<ArrayBuffer>[],
  paths = [ARCHIVE],
) {
  const lan = stack.use(new TestLan());
  const issuer = await makeIssuer();
  const licence = await issuer.issue({
    id: "L-1",
    holder: "Lab",
    maxClusterNodes: 9,
    notAfter: null,
  });
  const means = { config: { licence }, licenceKeys: [issuer.publicKey] };
  const { clock } = lan;
  const hosts: LanHost[] = [];
  for (const [at, archive] of archives.entries()) {
    const files = new MemoryFiles(
      Object.fromEntries(paths.map((path) => [path, archive])),
    );
    const packs = machinePacks(PACK, { clock, files }).shelf;
    hosts.push(await lan.add(at + 1, { ...means, packs }));
  }
  const files = new MemoryFiles();
  const last: { host: LanHost | null } = { host: null };
  const own = machinePacks(
    PACK,
    { clock, files },
    () => last.host?.node.cluster.packAllies?.() ?? null,
  );
  const host = await lan.add(archives.length + 1, {
    ...means,
    packs: own.shelf,
  });
  last.host = host;
  await lan.untilWhole(5000, ...hosts, host);
  return { lan, hosts, own };
}

Deno.test("a pack comes from a member as it was published, and can be given on", async () => {
  await using stack = new AsyncDisposableStack();
  const { lan, own } = await pool(stack, [BYTES]);
  const listed = await lan.settle(own.care.list(SIGNAL), 5000);
  assert.deepEqual(listed[0]?.members, ["node-1"]);
  const told: string[] = [];
  const added = await lan.settle(
    own.care.add(
      "vulkan",
      "node-1",
      (done, of, member) => told.push(`${done}/${of} ${member}`),
      SIGNAL,
    ),
    60_000,
  );
  assert.deepEqual([added.from, added.pack.state], ["node-1", "installed"]);
  assert.equal(told.at(-1), `${BYTES.length}/${BYTES.length} node-1`);
  assert.deepEqual((await own.shelf.list()).map((one) => one.integrity), [
    PACKAGE.integrity,
  ]);
});

Deno.test("another member gives the pack where the first one's cable is pulled in the middle", async () => {
  await using stack = new AsyncDisposableStack();
  const { hosts, lan, own } = await pool(stack, [BYTES, BYTES]);
  let first: string | null = null;
  const added = await lan.settle(
    own.care.add("vulkan", null, (done, _of, member) => {
      first ??= member;
      if (done < 1_000_000 || member !== first) return;
      hosts.find(({ node }) => node.member(1)?.self === (member === "node-1"))
        ?.cut();
    }, SIGNAL),
    120_000,
  );
  assert.ok(first !== null && added.from !== null);
  assert.deepEqual([first, added.from].sort(), ["node-1", "node-2"]);
});

Deno.test("a member that used a pack and did not keep its archive says so, and what to do there", async () => {
  await using stack = new AsyncDisposableStack();
  const unpacked = ARCHIVE.replace(/\.tgz$/, "/package.json");
  const { lan, own } = await pool(stack, [BYTES], [unpacked]);
  await assert.rejects(
    lan.settle(own.care.add("vulkan", "node-1", () => {}, SIGNAL), 60_000),
    /"node-1" added it before archives were kept .*`covey engine remove vulkan`/,
  );
});

Deno.test("a member's damaged archive is not taken, and nothing of it stays", async () => {
  await using stack = new AsyncDisposableStack();
  const spoiled = BYTES.map((byte, at) => at === 1_500_000 ? byte ^ 1 : byte);
  const { lan, own } = await pool(stack, [spoiled]);
  await assert.rejects(
    lan.settle(own.care.add("vulkan", null, () => {}, SIGNAL), 60_000),
    /is not what was published/,
  );
  assert.deepEqual(await own.shelf.list(), []);
  const [listed] = await lan.settle(own.care.list(SIGNAL), 5000);
  assert.equal(listed?.state, "available");
});

Deno.test("a pack that is being fetched ends with its asker", async () => {
  await using stack = new AsyncDisposableStack();
  const { lan, own } = await pool(stack, [BYTES]);
  const asker = new AbortController();
  await assert.rejects(
    lan.settle(
      own.care.add(
        "vulkan",
        null,
        () => asker.abort(new Error("The asker left")),
        asker.signal,
      ),
      60_000,
    ),
    /The asker left/,
  );
  const [listed] = await lan.settle(own.care.list(SIGNAL), 5000);
  assert.equal(listed?.state, "available");
});
