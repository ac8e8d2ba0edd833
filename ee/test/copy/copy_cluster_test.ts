import assert from "node:assert/strict";
import { CHUNK_BYTES, type Cluster, isJsonObject } from "@covey/core/domain";
import { createSeededEntropy, MemoryFiles } from "@covey/core/platform";
import { FakeLan, TestNode } from "../cluster_fixture.ts";
import { MemoryShelf, MODELS } from "./memory_shelf.ts";

const SIGNAL = new AbortController().signal;

interface CopyNode {
  readonly node: TestNode;
  readonly shelf: MemoryShelf;
}

async function start(
  n: number,
  lan: FakeLan,
  files = new MemoryFiles(),
  role: "node" | "controller" = "node",
): Promise<CopyNode> {
  const shelf = new MemoryShelf(files);
  await shelf.refresh();
  return { node: new TestNode(n, lan, { files, models: shelf, role }), shelf };
}

function weights(seed: number, chunks: number): Uint8Array<ArrayBuffer> {
  return createSeededEntropy(seed).bytes(chunks * CHUNK_BYTES - 1000);
}

async function copies(cluster: Cluster) {
  const answer = await cluster.act("copies", {}, SIGNAL);
  if (!isJsonObject(answer) || !Array.isArray(answer.copies)) {
    throw new Error("No list");
  }
  return answer.copies.filter(isJsonObject);
}

Deno.test("a copied model is offered by the receiver, and another under its name stays beside it", async () => {
  const lan = new FakeLan();
  const bytes = weights(1, 3);
  const one = await start(
    1,
    lan,
    new MemoryFiles({ [`${MODELS}/m.gguf`]: bytes }),
  );
  const two = await start(
    2,
    lan,
    new MemoryFiles({ [`${MODELS}/m.gguf`]: weights(2, 1) }),
  );
  await using first = await one.node.cluster;
  await using second = await two.node.cluster;
  await Promise.all([
    one.node.log.until("A member is healthy"),
    two.node.log.until("A member is healthy"),
  ]);
  await first.act("copy", { model: "m", to: ["node-2"] }, SIGNAL);
  await two.node.log.until("A model was copied");
  const root = one.shelf.list()[0]?.root;
  const arrived = two.shelf.list().find((model) => model.root === root);
  assert.equal(arrived?.name, `m-${root?.slice(0, 8)}`);
  assert.equal(two.shelf.list().length, 2);
  assert.deepEqual(await two.node.files.readBytes(arrived?.path ?? ""), bytes);
  const [copy] = await copies(first);
  assert.equal(copy?.state, "done");
  assert.match(String(copy?.message), /Another model is called "m" here/);
  assert.deepEqual(await copies(second), await copies(first));
  // Once more: it is here, and nothing moves.
  await first.act("copy", { model: root ?? "", to: ["node-2"] }, SIGNAL);
  assert.match(
    String((await copies(second))[1]?.message),
    /It is here already/,
  );
});

Deno.test("a node goes on with a copy after a restart and fetches only what is missing", async () => {
  const lan = new FakeLan();
  const bytes = weights(3, 4);
  const one = await start(
    1,
    lan,
    new MemoryFiles({ [`${MODELS}/m.gguf`]: bytes }),
  );
  const [model] = one.shelf.list();
  const manifest = await one.shelf.manifest("m");
  const parts = `${MODELS}/.copies/${model?.root}`;
  const part = bytes.slice();
  // The second chunk is here as marked; the third is marked, but was torn.
  part.fill(0, 0, CHUNK_BYTES);
  part.fill(0, CHUNK_BYTES * 2);
  const two = await start(
    2,
    lan,
    new MemoryFiles({
      [`${parts}/manifest.json`]: JSON.stringify(manifest),
      [`${parts}/0.part`]: part,
      [`${parts}/held`]: new Uint8Array([0, 1, 1, 0]),
    }),
  );
  const read: number[] = [];
  const readChunk = one.shelf.readChunk.bind(one.shelf);
  one.shelf.readChunk = (name, file, chunk) => {
    read.push(chunk);
    return readChunk(name, file, chunk);
  };
  await using _first = await one.node.cluster;
  await using _second = await two.node.cluster;
  await two.node.log.until("A model was copied");
  assert.deepEqual(read.sort(), [0, 2, 3]);
  assert.deepEqual(
    await two.node.files.readBytes(two.shelf.list()[0]?.path ?? ""),
    bytes,
  );
  await assert.rejects(two.node.files.list(parts));
});

Deno.test("two receivers get a model whole although its source gives each chunk but once", async () => {
  const lan = new FakeLan();
  const bytes = weights(6, 6);
  // A controller takes no seat, so that three nodes need no licence.
  const one = await start(
    1,
    lan,
    new MemoryFiles({ [`${MODELS}/m.gguf`]: bytes }),
    "controller",
  );
  const given: number[] = [];
  const readChunk = one.shelf.readChunk.bind(one.shelf);
  one.shelf.readChunk = (name, file, chunk) => {
    if (given.includes(chunk)) return Promise.resolve(null);
    given.push(chunk);
    return readChunk(name, file, chunk);
  };
  await using first = await one.node.cluster;
  const two = await start(2, lan);
  await using _second = await two.node.cluster;
  await two.node.log.until("A member is healthy");
  const three = await start(3, lan);
  await using _third = await three.node.cluster;
  while (
    three.node.log.lines.filter(({ message }) =>
      message === "A member is healthy"
    ).length < 2
  ) await three.node.log.next();
  while (
    one.node.log.lines.filter(({ message }) =>
      message === "A member is healthy"
    ).length < 2
  ) await one.node.log.next();
  await first.act("copy", { model: "m", to: ["node-2", "node-3"] }, SIGNAL);
  await Promise.all([two, three].map(async ({ node, shelf }) => {
    await node.log.until("A model was copied");
    const path = shelf.list()[0]?.path ?? "";
    assert.deepEqual(await node.files.readBytes(path), bytes);
  }));
  assert.deepEqual(given.sort(), [0, 1, 2, 3, 4, 5]);
});

Deno.test("a copy outlives the end of its source and fetches nothing twice that had come", async () => {
  const lan = new FakeLan();
  const bytes = weights(7, 10);
  const files = new MemoryFiles({ [`${MODELS}/m.gguf`]: bytes });
  const before = await start(1, lan, files);
  const two = await start(2, lan);
  let reads = 0;
  const dead = Promise.withResolvers<null>();
  const dies = Promise.withResolvers<void>();
  const readChunk = before.shelf.readChunk.bind(before.shelf);
  before.shelf.readChunk = (...place) => {
    if (++reads <= 6) return readChunk(...place);
    dies.resolve();
    return dead.promise;
  };
  await using _second = await two.node.cluster;
  {
    await using first = await before.node.cluster;
    await Promise.all([
      before.node.log.until("A member is healthy"),
      two.node.log.until("A member is healthy"),
    ]);
    await first.act("copy", { model: "m", to: ["node-2"] }, SIGNAL);
    await dies.promise;
    dead.resolve(null);
  }
  const after = await start(1, lan, files);
  let readsAfter = 0;
  const readAgain = after.shelf.readChunk.bind(after.shelf);
  after.shelf.readChunk = (...place) => {
    readsAfter++;
    return readAgain(...place);
  };
  await using _first = await after.node.cluster;
  await two.node.log.until("A model was copied");
  const path = two.shelf.list()[0]?.path ?? "";
  assert.deepEqual(await two.node.files.readBytes(path), bytes);
  // What was read and not given, and what was on its way in the other lanes.
  assert.ok(readsAfter <= 6, `${readsAfter}`);
});

Deno.test("a paused copy keeps its bytes over a restart, and goes on without them when it is resumed", async () => {
  const lan = new FakeLan();
  const bytes = weights(8, 6);
  const one = await start(
    1,
    lan,
    new MemoryFiles({ [`${MODELS}/m.gguf`]: bytes }),
  );
  const stuck = Promise.withResolvers<null>();
  using _unstick = { [Symbol.dispose]: () => stuck.resolve(null) };
  const isStuck = Promise.withResolvers<void>();
  const readChunk = one.shelf.readChunk.bind(one.shelf);
  const read: number[] = [];
  one.shelf.readChunk = (...place) => {
    read.push(place[2]);
    if (read.length <= 3) return readChunk(...place);
    isStuck.resolve();
    return stuck.promise;
  };
  await using first = await one.node.cluster;
  const files = new MemoryFiles();
  let id = "";
  {
    const two = await start(2, lan, files);
    await using _second = await two.node.cluster;
    await one.node.log.until("A member is healthy");
    await first.act("copy", { model: "m", to: ["node-2"] }, SIGNAL);
    await isStuck.promise;
    // One that answers late is left out of a list.
    let copy = (await copies(first))[0];
    while (copy === undefined) copy = (await copies(first))[0];
    id = String(copy.id);
    // Asked of another member than the one that has it.
    const paused = await first.act("pause_copy", { id }, SIGNAL);
    assert.match(JSON.stringify(paused), /"state":"paused"/);
  }
  stuck.resolve(null);
  one.shelf.readChunk = (...place) => {
    read.push(place[2]);
    return readChunk(...place);
  };
  const again = await start(2, lan, files);
  await using second = await again.node.cluster;
  await again.node.log.until("A member is healthy");
  const [kept] = await copies(second);
  assert.deepEqual([kept?.model, kept?.state], ["m", "paused"]);
  read.length = 0;
  await second.act("resume_copy", { id: String(kept?.id) }, SIGNAL);
  await Promise.race([
    again.node.log.until("A model was copied"),
    again.node.log.until("A copy failed").then(() => {
      throw new Error("It failed");
    }),
  ]);
  const path = again.shelf.list()[0]?.path ?? "";
  assert.deepEqual(await files.readBytes(path), bytes);
  // Three lanes: of three that were read, two may have been on their way.
  assert.ok(read.length <= 5, `${read}`);
});

Deno.test("a source whose disk gives other bytes withdraws its copy, and the receiver accepts none of it", async () => {
  const lan = new FakeLan();
  const one = await start(
    1,
    lan,
    new MemoryFiles({ [`${MODELS}/m.gguf`]: weights(4, 2) }),
  );
  const two = await start(2, lan);
  one.shelf.readChunk = () =>
    Promise.resolve(new Uint8Array(CHUNK_BYTES).fill(7));
  await using first = await one.node.cluster;
  await using second = await two.node.cluster;
  await one.node.log.until("A member is healthy");
  await first.act("copy", { model: "m", to: ["node-2"] }, SIGNAL);
  await one.node.log.until("are not those of its digests");
  let copy = (await copies(first))[0];
  while (copy?.state !== "waiting") copy = (await copies(first))[0];
  assert.equal(copy.doneBytes, 0);
  const id = String(copy.id);
  await second.act("cancel_copy", { id }, SIGNAL);
  while (copy?.state !== "cancelled") copy = (await copies(first))[0];
  assert.deepEqual(two.shelf.list(), []);
  assert.deepEqual(await two.node.files.list(`${MODELS}/.copies`), []);
});

Deno.test("to copy an unknown model, to a stranger or without a body is refused with a reason", async () => {
  const lan = new FakeLan();
  const one = await start(
    1,
    lan,
    new MemoryFiles({ [`${MODELS}/m.gguf`]: weights(5, 1) }),
  );
  await using first = await one.node.cluster;
  const refused = async (body: Record<string, string | string[]>) => {
    const error = await first.act("copy", body, SIGNAL).catch((e) => e);
    return error instanceof Error ? error.message : "";
  };
  assert.match(await refused({ model: "x", to: ["node-1"] }), /No member has/);
  assert.match(await refused({ model: "m", to: ["pi"] }), /called "pi"/);
  assert.match(await refused({ model: "m" }), /has the form/);
  await assert.rejects(
    first.act("cancel_copy", { id: "none" }, SIGNAL),
    /No member that answers has a copy "none"/,
  );
});
