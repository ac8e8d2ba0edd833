import assert from "node:assert/strict";
import {
  CHUNK_BYTES,
  type PullOutcome,
  type PullView,
} from "@covey/core/domain";
import { MemoryFiles } from "@covey/core/platform";
import { type HubServer, startHub } from "../../../test/fakes/hub_server.ts";
import { FakeLan } from "../cluster_fixture.ts";
import {
  chunkyWeights,
  givenBytes,
  met,
  type PullingMember,
  startPulling,
} from "./pulling_member.ts";

const FILE = "m-Q4_K_M.gguf";
const MODEL = "m-Q4_K_M";

/** How many chunks a pull has, told as it comes to have them. */
class Tally {
  chunks = 0;
  readonly stages = new Set<PullView["stage"]>();
  #bell = Promise.withResolvers<void>();

  readonly tell = ({ doneBytes, stage }: PullView): void => {
    this.stages.add(stage);
    if (stage === "waiting") return;
    this.chunks = Math.max(this.chunks, Math.ceil(doneBytes / CHUNK_BYTES));
    this.#bell.resolve();
    this.#bell = Promise.withResolvers();
  };

  async reaches(chunks: number): Promise<void> {
    while (this.chunks < chunks) await this.#bell.promise;
  }
}

/** Members that met each other, all but two of which take no seat. */
async function startAll(
  stack: AsyncDisposableStack,
  hub: HubServer,
  count: number,
): Promise<readonly PullingMember[]> {
  const lan = new FakeLan();
  const members: PullingMember[] = [];
  for (let n = 1; n <= count; n++) {
    const role = n <= count - 2 ? "controller" : "node";
    const settings = { role, pieceBytes: CHUNK_BYTES } as const;
    members.push(stack.use(await startPulling(n, lan, hub, settings)));
  }
  await Promise.all(members.map(({ node }) => met(node, count - 1)));
  return members;
}

async function expectAll(
  members: readonly PullingMember[],
  bytes: Uint8Array<ArrayBuffer>,
): Promise<void> {
  for (const { files, store } of members) {
    const [model, ...others] = store.list();
    assert.equal(others.length, 0);
    assert.deepEqual(await files.readBytes(model?.path ?? ""), bytes);
    assert.deepEqual(await files.list("/models/.partial"), []);
  }
}

/** Let the hub give one chunk after the other, and each only once all that was given before has come to all; one after `until` of them is stuck. */
function inStep(hub: HubServer, tallies: readonly Tally[], until: number) {
  const stuck = Promise.withResolvers<void>();
  let given = 0;
  let turn = Promise.resolve();
  hub.faults.beforeRange = () =>
    turn = turn.then(async () => {
      const before = given++;
      if (before === until) return await stuck.promise;
      const whole = Math.min(before, until);
      await Promise.all(tallies.map((one) => one.reaches(whole)));
    });
  return stuck;
}

Deno.test("four members that pull one model at once all have each chunk before its source gives the next one, and it gives each but once", async () => {
  const bytes = chunkyWeights(5);
  await using stack = new AsyncDisposableStack();
  const hub = stack.use(startHub({ [FILE]: bytes }));
  const members = await startAll(stack, hub, 4);
  const tallies = members.map(() => new Tally());
  inStep(hub, tallies, Infinity);
  const outcomes = await Promise.all(
    members.map(({ pull }, at) => pull(tallies[at]?.tell)),
  );
  assert.equal(givenBytes(hub), bytes.length);
  await expectAll(members, bytes);
  assert.equal(outcomes.filter(({ from }) => from.length === 0).length, 1);
  assert.ok(outcomes.every(({ verified }) => verified));
  assert.equal(
    tallies.filter(({ stages }) => stages.has("relaying")).length,
    3,
  );
  // No member copied what it could have had before.
  assert.ok(tallies.every(({ stages }) => !stages.has("copying")));
});

Deno.test("when the member dies that fetches, another goes on with what came, and asks the source for the rest alone", async () => {
  const bytes = chunkyWeights(8);
  await using stack = new AsyncDisposableStack();
  const hub = stack.use(startHub({ [FILE]: bytes }));
  const members = await startAll(stack, hub, 3);
  const [one, two, three] = members;
  const tallies = members.map(() => new Tally());
  const stuck = inStep(hub, tallies.slice(1), 4);
  // The first one asks around alone, and so is the one that fetches.
  const dying = one?.pull(tallies[0]?.tell);
  dying?.catch(() => {});
  await tallies[0]?.reaches(1);
  const pulls = [two, three].map((member, at) =>
    member?.pull(tallies[at + 1]?.tell)
  );
  await Promise.all(tallies.slice(1).map((tally) => tally.reaches(4)));
  hub.requests.length = 0;
  hub.faults = {};
  await one?.[Symbol.asyncDispose]();
  stuck.resolve();
  await assert.rejects(dying ?? Promise.resolve(), /shutting down/);
  const outcomes = await Promise.all(pulls);
  assert.equal(givenBytes(hub), bytes.length - 4 * CHUNK_BYTES);
  await expectAll(members.slice(1), bytes);
  assert.ok(outcomes.every((one) => one?.verified));
});

Deno.test("bytes that the source spoils are relayed and never published, and all members have the right ones of a second fetch", async () => {
  const bytes = chunkyWeights(4);
  const spoiled = bytes.slice();
  spoiled[2 * CHUNK_BYTES + 5] = 0xff;
  await using stack = new AsyncDisposableStack();
  const hub = stack.use(startHub({ [FILE]: bytes }));
  const members = await startAll(stack, hub, 3);
  const tallies = members.map(() => new Tally());
  hub.faults.etag = '"same"';
  let given = 0;
  hub.faults.beforeRange = async () => {
    const isFirst = given++ < 4;
    // The last chunks of the first fetch come once all have the others.
    if (given === 4) await Promise.all(tallies.map((one) => one.reaches(3)));
    hub.files.set(FILE, isFirst ? spoiled : bytes);
  };
  const outcomes: PullOutcome[] = await Promise.all(
    members.map(({ pull }, at) => pull(tallies[at]?.tell)),
  );
  await expectAll(members, bytes);
  assert.ok(outcomes.every(({ verified }) => verified));
  // The one that fetches did so twice, and nobody else.
  assert.equal(givenBytes(hub), 2 * bytes.length);
});

Deno.test("what a source publishes no digest of is relayed, and published once the member that fetched it is at its end", async () => {
  const bytes = chunkyWeights(4);
  await using stack = new AsyncDisposableStack();
  const hub = stack.use(startHub({ [FILE]: bytes }));
  const members = await startAll(stack, hub, 3);
  const tallies = members.map(() => new Tally());
  inStep(hub, tallies, Infinity);
  const url = `${hub.origin}/files/${FILE}`;
  const outcomes = await Promise.all(
    members.map(({ pull }, at) => pull(tallies[at]?.tell, url)),
  );
  assert.equal(givenBytes(hub), bytes.length);
  await expectAll(members, bytes);
  assert.ok(
    outcomes.every(({ model, verified }) => model === MODEL && !verified),
  );
  assert.equal(
    tallies.filter(({ stages }) => stages.has("relaying")).length,
    2,
  );
});

Deno.test("a pull that takes what has come to another member is paused, and goes on with its bytes after a restart", async () => {
  const bytes = chunkyWeights(5);
  await using hub = startHub({ [FILE]: bytes });
  const lan = new FakeLan();
  const settings = { pieceBytes: CHUNK_BYTES };
  await using one = await startPulling(1, lan, hub, settings);
  const tally = new Tally();
  const stuck = inStep(hub, [tally], 3);
  using _unstick = { [Symbol.dispose]: () => stuck.resolve() };
  const files = new MemoryFiles({ "/models/.keep": "", "/data/.keep": "" });
  const began = new Tally();
  let first: Promise<PullOutcome> | null = null;
  let id = "";
  {
    await using two = await startPulling(2, lan, hub, { ...settings, files });
    await Promise.all([met(one.node, 1), met(two.node, 1)]);
    first = one.pull(began.tell);
    first.catch(() => {});
    await began.reaches(1);
    const pulled = two.pull(tally.tell);
    const paused = assert.rejects(pulled, /was paused/);
    await tally.reaches(3);
    id = two.pulls.list()[0]?.id ?? "";
    assert.ok(await two.pulls.pause(id));
    await paused;
  }
  const state = await files.readText(
    `/models/.partial/${id}/${FILE}.part.json`,
  );
  assert.deepEqual(JSON.parse(state).done.toSorted(), [0, 1, 2]);
  await using again = await startPulling(2, lan, hub, { ...settings, files });
  await again.pulls.resume();
  assert.equal(again.pulls.list()[0]?.stage, "paused");
  await met(again.node, 1);
  stuck.resolve();
  const outcome = await again.pull();
  assert.deepEqual(outcome.from, ["node-1"]);
  await first;
  assert.equal(givenBytes(hub), bytes.length);
  await expectAll([one, again], bytes);
});
