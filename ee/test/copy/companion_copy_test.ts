import assert from "node:assert/strict";
import { CHUNK_BYTES, type Cluster, isJsonObject } from "@covey/core/domain";
import { createSeededEntropy, MemoryFiles } from "@covey/core/platform";
import { buildModel } from "../../../test/fakes/gguf_builder.ts";
import { startHub } from "../../../test/fakes/hub_server.ts";
import { FakeLan } from "../cluster_fixture.ts";
import {
  chunkyWeights,
  givenBytes,
  met,
  type PullingMember,
  startPulling,
} from "./pulling_member.ts";

const SIGNAL = new AbortController().signal;
const NOWHERE = { origin: "http://127.0.0.1:9" };
const VISION = "mmproj-m-F16.gguf";

/** A vision part of that many chunks. */
function vision(chunks: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(chunks * CHUNK_BYTES - 5000);
  bytes.set(buildModel([], "clip"));
  const noise = createSeededEntropy(9).bytes(1000);
  for (let at = 1; at < chunks; at++) bytes.set(noise, at * CHUNK_BYTES + at);
  return bytes;
}

async function start(
  n: number,
  lan: FakeLan,
  held: Readonly<Record<string, Uint8Array<ArrayBuffer>>>,
  role: "node" | "controller" = "node",
): Promise<PullingMember> {
  const files = new MemoryFiles({
    "/models/.keep": "",
    "/data/.keep": "",
    ...held,
  });
  const member = await startPulling(n, lan, NOWHERE, { files, role });
  await member.store.refresh();
  await member.store.digested();
  return member;
}

async function copyTo(cluster: Cluster, to: string | string[], model = "m") {
  const answer = await cluster.act("copy", { model, to }, SIGNAL);
  const copies = isJsonObject(answer) ? answer.copies : null;
  return Array.isArray(copies) ? copies.length : 0;
}

/** Wait for the ends of that many copies, and say how the last one ended. */
async function ended({ node }: PullingMember, count: number) {
  const cluster = await node.cluster;
  for (;;) {
    const answer = await cluster.act("copies", {}, SIGNAL);
    const copies = isJsonObject(answer) && Array.isArray(answer.copies)
      ? answer.copies.filter(isJsonObject)
      : [];
    const over = copies.filter(({ state }) =>
      state === "done" || state === "failed"
    );
    if (over.length >= count) return over.at(-1);
  }
}

Deno.test("covey copy brings the vision part with the model, whose root stays what it is, and brings it alone where the model is", async () => {
  const lan = new FakeLan();
  const weights = chunkyWeights(2);
  const part = vision(3);
  await using one = await start(1, lan, {
    "/models/org/m.gguf": weights,
    [`/models/org/${VISION}`]: part,
  }, "controller");
  await using two = await start(2, lan, {});
  await using three = await start(3, lan, { "/models/x/m.gguf": weights });
  await Promise.all([one, two, three].map(({ node }) => met(node, 2)));
  const root = one.store.list()[0]?.root;
  assert.equal(root, three.store.list()[0]?.root);
  const cluster = await one.node.cluster;
  assert.equal(await copyTo(cluster, ["node-2"]), 1);
  const copy = await ended(two, 1);
  assert.deepEqual([copy?.state, copy?.message], ["done", null]);
  assert.equal(copy?.doneBytes, weights.length + part.length);
  assert.deepEqual(await two.files.readBytes("/models/m/m.gguf"), weights);
  assert.deepEqual(await two.files.readBytes(`/models/m/${VISION}`), part);
  assert.equal(two.store.list()[0]?.root, root);
  await two.store.digested();
  assert.equal(
    (await two.store.companions("m"))?.root,
    (await one.store.companions("m"))?.root,
  );
  // Where the model is without it, that alone is read.
  let read = 0;
  const readChunk = one.shelf.readChunk.bind(one.shelf);
  one.shelf.readChunk = (...place) => (read++, readChunk(...place));
  await copyTo(cluster, ["node-3"]);
  await ended(three, 2);
  assert.deepEqual(await three.files.readBytes(`/models/x/${VISION}`), part);
  assert.equal(read, 0);
  for (const { files } of [two, three]) {
    assert.deepEqual(await files.list("/models/.copies"), []);
  }
});

Deno.test("a vision part whose bytes are not those of its digests is not published, and the model is there without it", async () => {
  const lan = new FakeLan();
  const weights = chunkyWeights(1);
  const part = vision(2);
  await using one = await start(1, lan, {
    "/models/org/m.gguf": weights,
    [`/models/org/${VISION}`]: part,
  });
  await using two = await start(2, lan, {});
  await Promise.all([met(one.node, 1), met(two.node, 1)]);
  const readCompanion = one.shelf.readCompanion?.bind(one.shelf);
  one.shelf.readCompanion = async (...place) => {
    const bytes = await readCompanion?.(...place) ?? null;
    if (bytes !== null) bytes[7] = (bytes[7] ?? 0) ^ 1;
    return bytes;
  };
  await copyTo(await one.node.cluster, ["node-2"]);
  await one.node.log.until("are not those of its digests");
  two.moveOn(60_000);
  const copy = await ended(two, 1);
  assert.equal(copy?.state, "done");
  assert.match(`${copy?.message}`, /^What goes with it is not: No member/);
  const there = (await two.files.list("/models/m")).map(({ name }) => name);
  assert.deepEqual(there, ["m.gguf"]);
});

Deno.test("a node that ended between a model and its vision part goes on with that at its next start", async () => {
  const lan = new FakeLan();
  const weights = chunkyWeights(1);
  const part = vision(2);
  await using one = await start(1, lan, {
    "/models/org/m.gguf": weights,
    [`/models/org/${VISION}`]: part,
  });
  const root = one.store.list()[0]?.root ?? "";
  const along = (await one.store.companions("m"))?.root ?? "";
  const ask = { model: "m", bytesPerSecond: null, paused: false, of: root };
  await using two = await start(2, lan, {
    "/models/m/m.gguf": weights,
    [`/models/.copies/${along}/ask.json`]: new TextEncoder().encode(
      JSON.stringify(ask),
    ),
  });
  await Promise.all([met(one.node, 1), met(two.node, 1)]);
  const copy = await ended(two, 1);
  assert.deepEqual([copy?.state, copy?.message], ["done", null]);
  assert.deepEqual(await two.files.readBytes(`/models/m/${VISION}`), part);
});

Deno.test("two members that pull a model with a vision part fetch both once, at the same time or one after the other", async () => {
  const weights = chunkyWeights(2);
  const part = vision(2);
  await using hub = startHub({ "m-Q4_0.gguf": weights, [VISION]: part });
  const lan = new FakeLan();
  const settings = { pieceBytes: CHUNK_BYTES };
  await using one = await startPulling(1, lan, hub, {
    ...settings,
    role: "controller",
  });
  await using two = await startPulling(2, lan, hub, settings);
  await using three = await startPulling(3, lan, hub, settings);
  await Promise.all([one, two, three].map(({ node }) => met(node, 2)));
  await Promise.all([one.pull(), two.pull()]);
  const late = await three.pull();
  assert.notDeepEqual(late.from, []);
  assert.equal(givenBytes(hub), weights.length + part.length);
  for (const { files, store } of [one, two, three]) {
    const path = store.list()[0]?.path ?? "";
    const folder = path.slice(0, path.lastIndexOf("/"));
    assert.deepEqual(await files.readBytes(path), weights);
    assert.deepEqual(await files.readBytes(`${folder}/${VISION}`), part);
  }
});
