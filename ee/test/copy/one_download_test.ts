import assert from "node:assert/strict";
import { CHUNK_BYTES, type PullView } from "@covey/core/domain";
import { startHub } from "../../../test/fakes/hub_server.ts";
import { FakeLan } from "../cluster_fixture.ts";
import {
  givenBytes,
  met,
  SOURCE,
  startPulling as start,
  weights,
} from "./pulling_member.ts";

const FILE = "m-Q4_K_M.gguf";
const FOREVER = new AbortController().signal;

Deno.test("three nodes that pull one model, two of them at once, fetch it but once from its source", async () => {
  const bytes = weights();
  await using hub = startHub({ [FILE]: bytes });
  const lan = new FakeLan();
  // A controller takes no seat, so that three nodes need no licence.
  await using one = await start(1, lan, hub, { role: "controller" });
  await using two = await start(2, lan, hub);
  await using three = await start(3, lan, hub);
  await Promise.all([one, two, three].map(({ node }) => met(node, 2)));
  const outcomes = await Promise.all([one.pull(), two.pull()]);
  const late: PullView[] = [];
  const third = await three.pull((view) => late.push(view));
  assert.equal(givenBytes(hub), bytes.length);
  for (const { model, sizeBytes, verified } of [...outcomes, third]) {
    assert.deepEqual([model, sizeBytes, verified], [
      "m-Q4_K_M",
      bytes.length,
      true,
    ]);
  }
  // Of those at once one fetched, whichever asked around first, and gave to the other.
  const fetcher = outcomes.findIndex(({ from }) => from.length === 0);
  assert.deepEqual(
    outcomes.map(({ from }) => from),
    fetcher === 0 ? [[], ["node-1"]] : [["node-2"], []],
  );
  assert.notDeepEqual(third.from, []);
  assert.ok(late.some(({ stage }) => stage === "copying"));
  const roots = [one, two, three].map(({ store }) => store.list()[0]?.root);
  assert.equal(new Set(roots).size, 1);
  const [manifest, ...others] = await Promise.all(
    [one, two, three].map(({ store }) => store.manifest("m-Q4_K_M")),
  );
  const origin = manifest?.files[0]?.origin;
  assert.deepEqual([origin?.source, origin?.path], [SOURCE, FILE]);
  assert.match(`${origin?.revision}`, /^[0-9a-f]{40}$/);
  for (const other of others) {
    assert.equal(other?.files[0]?.origin?.sha256, origin?.sha256);
  }
});

Deno.test("a node that waits for the pull of another shows how far that is, and fetches itself when the other dies", async () => {
  const bytes = weights();
  await using hub = startHub({ [FILE]: bytes });
  const lan = new FakeLan();
  const one = await start(1, lan, hub);
  await using two = await start(2, lan, hub);
  await Promise.all([met(one.node, 1), met(two.node, 1)]);
  const stuck = Promise.withResolvers<void>();
  const fetching = Promise.withResolvers<void>();
  hub.faults.beforeRange = async (at) => {
    if (at < 5_000) return;
    fetching.resolve();
    await stuck.promise;
  };
  const first = one.pull();
  first.catch(() => {});
  await fetching.promise;
  const waits = Promise.withResolvers<PullView>();
  const second = two.pull((view) => {
    if (view.stage === "waiting" && view.doneBytes > 0) waits.resolve(view);
  });
  const view = await waits.promise;
  assert.deepEqual([view.from, view.totalBytes], [["node-1"], bytes.length]);
  assert.equal(two.pulls.list()[0]?.stage, "waiting");
  await one[Symbol.asyncDispose]();
  await assert.rejects(first, /shutting down/);
  hub.faults = {};
  stuck.resolve();
  const outcome = await second;
  assert.deepEqual(outcome.from, []);
  const path = two.store.list()[0]?.path ?? "";
  assert.deepEqual(await two.files.readBytes(path), bytes);
});

Deno.test("a split model and what a member was given by hand are copied whole, all parts or none (GGF-01)", async () => {
  const parts = [weights(), weights()];
  parts[1]?.fill(7, 15_000);
  const [one1 = weights(), two2 = weights()] = parts;
  const names = [1, 2].map((part) => `b-Q6_K-0000${part}-of-00002.gguf`);
  await using hub = startHub({ [`${names[0]}`]: one1, [`${names[1]}`]: two2 });
  const lan = new FakeLan();
  await using one = await start(1, lan, hub);
  await using two = await start(2, lan, hub);
  await Promise.all([met(one.node, 1), met(two.node, 1)]);
  // Never pulled there: its digests alone tell that it is the same.
  for (const [at, bytes] of parts.entries()) {
    await one.files.writeAtomic(`/models/${names[at]}`, bytes, 0o600);
  }
  await one.store.refresh();
  await one.store.digested();
  const outcome = await two.pull();
  assert.deepEqual([outcome.model, outcome.from], ["b-Q6_K", ["node-1"]]);
  assert.equal(outcome.sizeBytes, one1.length + two2.length);
  assert.equal(givenBytes(hub), 0);
  assert.deepEqual(
    (await two.files.list("/models/b-Q6_K")).map(({ name }) => name),
    names,
  );
});

Deno.test("a plain URL is fetched once while its validator stays, and anew when it is another file", async () => {
  const bytes = weights();
  await using hub = startHub({ [FILE]: bytes });
  const lan = new FakeLan();
  await using one = await start(1, lan, hub);
  await using two = await start(2, lan, hub);
  await Promise.all([met(one.node, 1), met(two.node, 1)]);
  const url = `${hub.origin}/files/${FILE}`;
  await one.pull(() => {}, `${url}?token=a`);
  const copied = await two.pull(() => {}, `${url}?token=b`);
  assert.deepEqual(copied.from, ["node-1"]);
  assert.equal(givenBytes(hub), bytes.length);
  const origin = (await two.store.manifest("m-Q4_K_M"))?.files[0]?.origin;
  assert.equal(origin?.source, url, "without its query");
  await two.store.remove("m-Q4_K_M");
  const other = bytes.slice();
  other[other.length - 1] = 0;
  hub.files.set(FILE, other);
  const fetched = await two.pull(() => {}, url);
  assert.deepEqual(fetched.from, []);
  assert.equal(givenBytes(hub), 2 * bytes.length);
});

/** A node that pulls what another has, held up once two of four chunks were given. */
async function copying(
  test: (nodes: {
    readonly two: Awaited<ReturnType<typeof start>>;
    readonly bytes: Uint8Array<ArrayBuffer>;
    /** Chunks that are read once `goOn` was called. */
    readonly read: readonly number[];
    goOn(): void;
  }) => Promise<void>,
): Promise<void> {
  const bytes = new Uint8Array(4 * CHUNK_BYTES);
  bytes.set(weights());
  await using hub = startHub({ [FILE]: bytes });
  const lan = new FakeLan();
  await using one = await start(1, lan, hub);
  await using two = await start(2, lan, hub);
  await Promise.all([met(one.node, 1), met(two.node, 1)]);
  await one.files.writeAtomic(`/models/${FILE}`, bytes, 0o600);
  await one.store.refresh();
  await one.store.digested();
  const stuck = Promise.withResolvers<null>();
  using _unstick = { [Symbol.dispose]: () => stuck.resolve(null) };
  const readChunk = one.shelf.readChunk.bind(one.shelf);
  let reads = 0;
  one.shelf.readChunk = (...place) =>
    ++reads <= 2 ? readChunk(...place) : stuck.promise;
  const came = Promise.withResolvers<void>();
  const pulled = two.pull(({ doneBytes, stage }) => {
    if (stage === "copying" && doneBytes > 0) came.resolve();
  });
  pulled.catch(() => {});
  await came.promise;
  const read: number[] = [];
  await test({
    two,
    bytes,
    read,
    goOn() {
      one.shelf.readChunk = (...place) => {
        read.push(place[2]);
        return readChunk(...place);
      };
      stuck.resolve(null);
    },
  });
  assert.equal(givenBytes(hub), 0);
  await assert.rejects(pulled, /paused/);
}

Deno.test("a pull that copies keeps what came while it is paused, and goes on without it", async () => {
  await copying(async ({ bytes, goOn, read, two }) => {
    const [view] = two.pulls.list();
    assert.ok(await two.pulls.pause(view?.id ?? ""));
    const [paused] = two.pulls.list();
    assert.equal(paused?.stage, "paused");
    const held = (paused?.doneBytes ?? 0) / CHUNK_BYTES;
    assert.ok(held >= 1);
    goOn();
    const outcome = await two.pull();
    assert.deepEqual(outcome.from, ["node-1"]);
    const path = two.store.list()[0]?.path ?? "";
    assert.deepEqual(await two.files.readBytes(path), bytes);
    // What was asked for before the pause may be read twice; what had come is not.
    assert.ok(new Set(read).size <= 4 - held, `${read}`);
  });
});

Deno.test("a pull that copies and is cancelled after a pause leaves nothing of it", async () => {
  await copying(async ({ goOn, two }) => {
    const id = two.pulls.list()[0]?.id ?? "";
    await two.pulls.pause(id);
    const parts = () => two.files.list("/models/.copies");
    assert.equal((await parts()).length, 1);
    goOn();
    assert.ok(await two.pulls.cancel(id));
    const cluster = await two.node.cluster;
    const state = async () =>
      JSON.stringify(await cluster.act("copies", {}, FOREVER));
    while (!(await state()).includes('"cancelled"') || (await parts()).length);
  });
});
