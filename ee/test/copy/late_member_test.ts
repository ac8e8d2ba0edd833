import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  type PullView,
} from "@covey/core/domain";
import { type HubServer, startHub } from "../../../test/fakes/hub_server.ts";
import { FakeLan } from "../cluster_fixture.ts";
import {
  givenBytes,
  met,
  type PullingMember,
  startPulling,
  weights,
} from "./pulling_member.ts";

const FILE = "m-Q4_K_M.gguf";
const FOREVER = new AbortController().signal;
const SETTINGS = { secret: null } as const;

/** Let the hub give a quarter of the file, and the rest once it is told to. */
function heldUp(hub: HubServer) {
  const reached = Promise.withResolvers<void>();
  const more = Promise.withResolvers<void>();
  hub.faults.beforeRange = async (at) => {
    if (at < 5_000) return;
    reached.resolve();
    await more.promise;
  };
  return { reached: reached.promise, giveOn: () => more.resolve() };
}

async function act(
  { cluster }: PullingMember,
  action: "invite" | "join" | "leave",
  body: JsonObject = {},
): Promise<JsonObject> {
  const answer = await cluster.act(action, body, FOREVER);
  assert.ok(isJsonObject(answer));
  return answer;
}

/** Resolves with the first sight of a pull that will do, by what it is told of. */
function sightOf(holds: (view: PullView) => boolean) {
  const seen = Promise.withResolvers<PullView>();
  const tell = (view: PullView) => {
    if (holds(view)) seen.resolve(view);
  };
  return { seen: seen.promise, tell };
}

async function bytesAt({ files, store }: PullingMember): Promise<Uint8Array> {
  return await files.readBytes(store.list()[0]?.path ?? "");
}

for (const kind of ["a repository", "a plain URL"]) {
  Deno.test(`a pull of ${kind} that a node in no cluster began is waited for by a member that it meets in the middle, and its source gives it once`, async () => {
    const bytes = weights();
    await using stack = new AsyncDisposableStack();
    const hub = stack.use(startHub({ [FILE]: bytes }));
    const lan = new FakeLan();
    const one = stack.use(await startPulling(1, lan, hub, SETTINGS));
    const two = stack.use(await startPulling(2, lan, hub, SETTINGS));
    const source = kind === "a repository"
      ? undefined
      : `${hub.origin}/files/${FILE}`;
    const { giveOn, reached } = heldUp(hub);
    const first = one.pull(undefined, source);
    first.catch(() => {});
    await reached;
    const { token = "" } = await act(two, "invite");
    await act(one, "join", { token });
    await Promise.all([met(one.node, 1), met(two.node, 1)]);
    const { seen, tell } = sightOf(({ doneBytes, stage }) =>
      stage === "waiting" && doneBytes > 0
    );
    const second = two.pull(tell, source);
    second.catch(() => {});
    assert.deepEqual((await seen).from, ["node-1"]);
    giveOn();
    assert.deepEqual((await first).from, []);
    assert.deepEqual((await second).from, ["node-1"]);
    assert.equal(givenBytes(hub), bytes.length);
    assert.deepEqual(await bytesAt(one), bytes);
    assert.deepEqual(await bytesAt(two), bytes);
  });
}

Deno.test("a pull that waits for a member goes on alone when its node leaves the cluster, and is known in the next one", async () => {
  const bytes = weights();
  await using stack = new AsyncDisposableStack();
  const hub = stack.use(startHub({ [FILE]: bytes }));
  const lan = new FakeLan();
  const one = stack.use(await startPulling(1, lan, hub, SETTINGS));
  const two = stack.use(await startPulling(2, lan, hub, SETTINGS));
  const three = stack.use(await startPulling(3, lan, hub, SETTINGS));
  const { token = "" } = await act(one, "invite");
  await act(two, "join", { token });
  await Promise.all([met(one.node, 1), met(two.node, 1)]);
  const { giveOn, reached } = heldUp(hub);
  const first = one.pull();
  first.catch(() => {});
  await reached;
  const waiting = sightOf(({ doneBytes, stage }) =>
    stage === "waiting" && doneBytes > 0
  );
  const alone = sightOf(({ doneBytes, stage }) =>
    stage === "downloading" && doneBytes > 0
  );
  const second = two.pull((view) => {
    waiting.tell(view);
    alone.tell(view);
  });
  second.catch(() => {});
  await waiting.seen;
  await act(two, "leave");
  await alone.seen;
  const other = await act(two, "invite");
  await act(three, "join", { token: other.token ?? "" });
  await met(three.node, 1);
  const { seen, tell } = sightOf(({ from, stage }) =>
    stage === "waiting" && from.includes("node-2")
  );
  const third = three.pull(tell);
  third.catch(() => {});
  await seen;
  giveOn();
  await Promise.all([first, second, third]);
  assert.equal(givenBytes(hub), 2 * bytes.length, "once in each cluster");
  for (const member of [one, two, three]) {
    assert.deepEqual(await bytesAt(member), bytes);
  }
});
