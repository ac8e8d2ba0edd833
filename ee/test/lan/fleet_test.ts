import assert from "node:assert/strict";
import type { ClusterAction, JsonObject } from "@covey/core/domain";
import { chatRequest } from "../../../test/fakes/chat_request.ts";
import {
  type OwnedRouter,
  ScriptedNode,
} from "../../../test/fakes/scripted_node.ts";
import { nodeIdOf } from "../link/link_fixture.ts";
import { type LanHost, TestLan } from "./test_lan.ts";

const AMPLE_MS = 10_000;
const NEVER = new AbortController().signal;

function addRouted(
  lan: TestLan,
  n: number,
  node: ScriptedNode,
): Promise<LanHost> {
  return lan.add(n, {
    router: (peers, clock) => node.createRouter(peers, clock),
  });
}

function act(
  lan: TestLan,
  { node }: LanHost,
  action: ClusterAction,
  body: JsonObject = {},
) {
  return lan.settle(node.cluster.act(action, body, NEVER), AMPLE_MS);
}

function routerOf({ node }: LanHost): OwnedRouter {
  return node.router ?? assert.fail("It has no router");
}

async function ask(host: LanHost, maxOutputTokens = 100) {
  const answer = await routerOf(host).route(
    chatRequest({ maxOutputTokens }),
    NEVER,
  );
  await new Response(answer.body).text();
  return answer;
}

Deno.test("a member is drained through another: it finishes what runs, takes no more, and all see it at once", async () => {
  await using lan = new TestLan();
  const here = new ScriptedNode(nodeIdOf(1), () => 1000);
  const there = new ScriptedNode(nodeIdOf(2), () => 1000);
  const a = await addRouted(lan, 1, here);
  const b = await addRouted(lan, 2, there);
  await lan.untilWhole(2000, a, b);
  // One here, one there.
  const running = [ask(a), ask(a)];
  await lan.until(
    "both run",
    1000,
    () => [here, there].every(({ engine }) => engine.running === 1),
  );
  await act(lan, a, "drain", { member: "NODE-2", draining: true });
  assert.equal(a.node.member(2)?.draining, true, "known by the answer");
  assert.equal(a.node.member(2)?.inFlight, 1, "what runs there goes on");
  const drainedAt = there.engine.attempts.length;
  const [first, second, ...more] = await lan.settle(
    Promise.all([...running, ask(a), ask(a)]),
    AMPLE_MS,
  );
  assert.deepEqual(
    new Set([first?.node, second?.node]),
    new Set([nodeIdOf(1), nodeIdOf(2)]),
  );
  assert(more.every(({ node }) => node === nodeIdOf(1)));
  assert.equal(there.engine.attempts.length, drainedAt);
  await act(lan, a, "refresh");
  assert.equal(a.node.member(2)?.inFlight, 0);
  // Its own clients are served by others meanwhile.
  const passedOn = await lan.settle(ask(b), AMPLE_MS);
  assert.equal(passedOn.node, nodeIdOf(1));
  await act(lan, a, "drain", { member: nodeIdOf(2), draining: false });
  assert.equal(a.node.member(2)?.draining, false);
  const again = await lan.settle(
    Promise.all([ask(a), ask(a)]),
    AMPLE_MS,
  );
  assert(again.some(({ node }) => node === nodeIdOf(2)));
  const audit = async (host: LanHost) =>
    JSON.stringify(await act(lan, host, "audit"));
  assert.match(
    await audit(b),
    /"event":"drain","draining":true.*"by":"node-1"/,
  );
  assert.match(await audit(a), /"event":"drain","draining":true.*"by":"here"/);
});

Deno.test("a third member sees a drain as soon as it is done, and who is away or unknown can not be drained", async () => {
  await using lan = new TestLan();
  const { makeIssuer } = await import("../licence/issuer.ts");
  const issuer = await makeIssuer();
  const licence = await issuer.issue({
    id: "L-1",
    holder: "Lab",
    maxClusterNodes: 3,
    notAfter: null,
  });
  const more = { config: { licence }, licenceKeys: [issuer.publicKey] };
  const [a, b, c] = await Promise.all([1, 2, 3].map((n) => lan.add(n, more)));
  assert(a !== undefined && b !== undefined && c !== undefined);
  await lan.untilWhole(AMPLE_MS, a, b, c);
  await act(lan, a, "drain", { member: "node-3", draining: true });
  // Long before its next poll in the ordinary way could tell.
  await lan.until("b knows", 200, () => b.node.member(3)?.draining === true);
  const [engine] = b.node.cluster.engines().filter(({ node }) =>
    node === nodeIdOf(3)
  );
  assert.deepEqual(engine?.view().availability, {
    kind: "unavailable",
    reason: "It is draining",
  });
  await assert.rejects(
    act(lan, a, "drain", { member: "node-9", draining: true }),
    { code: "not_found" },
  );
  await assert.rejects(
    act(lan, a, "drain", { member: "node-1", draining: true }),
    /this node itself/,
  );
  c.cut();
  await assert.rejects(
    act(lan, a, "drain", { member: "node-3", draining: false }),
    /"node-3" can not be reached, so it was not taken back/,
  );
});

Deno.test("a refresh asks every member at once and waits for what they say", async () => {
  await using lan = new TestLan();
  const [a, b] = await Promise.all([lan.add(1), lan.add(2)]);
  await lan.untilWhole(2000, a, b);
  const heardMsAgo = () => a.node.member(2)?.heardMsAgo ?? NaN;
  await lan.until("news are old", 2000, () => heardMsAgo() > 1000);
  const startMs = lan.clock.monotonic();
  await act(lan, a, "refresh");
  assert(heardMsAgo() < 100, "news");
  b.cut();
  await act(lan, a, "refresh");
  assert(lan.clock.monotonic() - startMs < 4000, "not for ever");
});

Deno.test("a request that waits at a member moves when another slot falls free, acknowledged over the link and counted", async () => {
  await using lan = new TestLan();
  // Here the first is over sooner than anybody thought.
  const here = new ScriptedNode(nodeIdOf(1), (n) => n === 1 ? 500 : 1000);
  const there = new ScriptedNode(nodeIdOf(2), () => 1000);
  const a = await addRouted(lan, 1, here);
  const b = await addRouted(lan, 2, there);
  await lan.untilWhole(2000, a, b);
  const asked = [1000, 100, 100].map((tokens) => ask(a, tokens));
  await lan.until("one waits there", 1000, () => {
    const [queue] = routerOf(b).report().engines[0]?.offers ?? [];
    return queue?.queue.waitingMs.length === 1;
  });
  const [, , third] = await lan.settle(Promise.all(asked), AMPLE_MS);
  assert.equal(third?.node, nodeIdOf(1));
  assert.deepEqual(
    routerOf(a).decision(third?.decision ?? assert.fail())?.attempts.map(
      ({ node, outcome }) => [node, outcome],
    ),
    [[nodeIdOf(2), "withdrawn"], [nodeIdOf(1), "answered"]],
  );
  assert.equal(there.engine.attempts.length, 1, "never begun there");
  assert.equal(
    here.metrics.counts.get("covey_withdrawals_total{result=moved}"),
    1,
  );
  assert.equal(
    here.metrics.counts.get("covey_attempts_total{outcome=withdrawn}"),
    1,
  );
  assert.deepEqual([routerOf(a).inFlight(), routerOf(b).inFlight()], [0, 0]);
});

Deno.test("every change of a member's health is counted, and members are by their health", async () => {
  await using lan = new TestLan();
  const [a, b] = await Promise.all([lan.add(1), lan.add(2)]);
  await lan.untilWhole(2000, a, b);
  const { metrics } = a.node;
  const changes = (to: string) =>
    metrics.counts.get(`covey_member_health_changes_total{to=${to}}`) ?? 0;
  const members = () =>
    metrics.seriesOf("covey_cluster_members").map(({ labels, value }) =>
      `${labels?.["health"]} ${value}`
    );
  assert.deepEqual([changes("healthy"), changes("offline")], [1, 0]);
  assert.deepEqual(members(), ["healthy 2"]);
  b.cut();
  await lan.until("it is gone", 6000, () => changes("offline") === 1);
  assert.deepEqual([changes("degraded"), changes("healthy")], [1, 1]);
  assert.deepEqual(members(), ["healthy 1", "offline 1"]);
  b.mend();
  await lan.until("it is back", 3000, () => changes("healthy") === 2);
  assert.equal(changes("recovery"), 1);
});
