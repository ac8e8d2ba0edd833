import assert from "node:assert/strict";
import type { NodeId, PackAllies, PackGiver } from "../../../src/domain/mod.ts";
import { Fault } from "../../../src/domain/mod.ts";
import { ManualClock, MemoryFiles } from "../../../src/platform/mod.ts";
import {
  machinePacks,
  packageOf,
  packOf,
  SOUND,
  tarball,
} from "../../fakes/made_up_pack.ts";

const SIGNAL = new AbortController().signal;
const BYTES = await tarball(SOUND);
const PACKAGE = packageOf(BYTES);
const PACK = packOf(PACKAGE);

/** A member that gives some bytes for whatever it says it has. */
function giver(
  name: string,
  bytes: Uint8Array<ArrayBuffer> | "fails",
  held: readonly string[] = [PACKAGE.integrity],
  unkept: readonly string[] = [],
): PackGiver {
  return {
    id: `id-of-${name}` as NodeId,
    name,
    held: new Set(held),
    unkept: new Set(unkept),
    open: () =>
      bytes === "fails"
        ? new ReadableStream({
          start(controller) {
            controller.enqueue(BYTES.slice(0, 40));
            controller.error(new Fault("link_failed", `${name} went away`));
          },
        })
        : new Blob([bytes]).stream(),
  };
}

function node(givers: readonly PackGiver[] | null) {
  const files = new MemoryFiles({});
  const allies: PackAllies | null = givers === null
    ? null
    : { givers: () => Promise.resolve(givers) };
  const told: string[] = [];
  const { care, shelf } = machinePacks(
    PACK,
    { clock: new ManualClock(), files },
    () => allies,
  );
  const add = (from: string | null = null) =>
    care.add(
      "vulkan",
      from,
      (done, of, member) => told.push(`${done}/${of} ${member}`),
      SIGNAL,
    );
  return { add, care, files, shelf, told };
}

Deno.test("MemberPacks takes a pack from a member, holds it against its digest, and can give it on", async () => {
  const { add, care, shelf, told } = node([giver("anna", BYTES)]);
  assert.deepEqual((await care.list(SIGNAL))[0]?.members, ["anna"]);
  const added = await add();
  assert.equal(added.from, "anna");
  assert.equal(added.pack.state, "installed");
  assert.equal(told.at(-1), `${BYTES.length}/${BYTES.length} anna`);
  assert.deepEqual(
    (await shelf.list()).map(({ integrity }) => integrity),
    [PACKAGE.integrity],
  );
  // What is here is asked of nobody.
  assert.equal((await add()).from, null);
});

Deno.test("MemberPacks goes on to the next member where one gives other bytes, part of them, or goes away", async () => {
  const other = await tarball([...SOUND, { name: "package/more", body: "x" }]);
  const { add, files } = node([
    giver("liar", other),
    giver("short", BYTES.slice(0, -20)),
    giver("gone", "fails"),
    giver("ben", BYTES),
  ]);
  assert.equal((await add()).from, "ben");
  const left = (await files.list("/data/packs")).map(({ name }) => name);
  assert.deepEqual(left.filter((name) => name.startsWith(".coming")), []);
});

Deno.test("MemberPacks keeps nothing where no member gives the published archive", async () => {
  const noise = BYTES.map((byte, at) => at === 30 ? byte ^ 1 : byte);
  const { add, care, files } = node([giver("liar", noise)]);
  await assert.rejects(
    add(),
    /is not what was published.*name another member with --from/,
  );
  assert.equal((await care.list(SIGNAL))[0]?.state, "available");
  const left = (await files.list("/data/packs")).map(({ name }) => name);
  assert.deepEqual(left, [".lock"]);
});

Deno.test("MemberPacks asks the one member that is named, and says why it can not give it", async () => {
  const { add } = node([
    giver("anna", BYTES),
    giver("ben", BYTES),
    giver("old", BYTES, ["sha512-of another release"]),
  ]);
  await assert.rejects(
    add("old"),
    /"old" does not have what this release needs/,
  );
  await assert.rejects(
    add("carol"),
    /No member that answers is called "carol"/,
  );
  assert.equal((await add("BEN")).from, "ben");
});

Deno.test("MemberPacks says what to do without a cluster, and where no member has it", async () => {
  await assert.rejects(node(null).add(), /this node is in no cluster/);
  await assert.rejects(
    node([giver("old", BYTES, [])]).add(),
    /no member that answers has what this release needs; `covey engine add vulkan`/,
  );
});

Deno.test("MemberPacks names those that did not keep the archive of what they use, and what to do there", async () => {
  const { add } = node([
    giver("none", BYTES, []),
    giver("early", BYTES, [], [PACKAGE.integrity]),
  ]);
  for (const from of [null, "early"]) {
    await assert.rejects(
      add(from),
      /"early" added it before archives were kept .*there, `covey engine remove vulkan` and then `covey engine add vulkan` change that/,
    );
  }
  await assert.rejects(add("none"), /"none" does not have what this release/);
});

Deno.test("MemberPacks asks nobody for what is not for this machine", async () => {
  const { care } = machinePacks(
    PACK,
    { clock: new ManualClock(), files: new MemoryFiles({}) },
    () => ({ givers: () => Promise.resolve([giver("anna", BYTES)]) }),
    { os: "darwin", arch: "aarch64" },
  );
  const [listed] = await care.list(SIGNAL);
  assert.deepEqual([listed?.state, listed?.members], ["other_machine", []]);
  await assert.rejects(
    care.add("vulkan", null, () => {}, SIGNAL),
    /no engine pack for darwin on aarch64/,
  );
});
