import assert from "node:assert/strict";
import {
  FakeLan,
  healthy,
  namesOf,
  settled,
  TestNode,
} from "./cluster_fixture.ts";
import { licensedFor } from "./licence/issuer.ts";
import { nodeIdOf } from "./link/link_fixture.ts";

const YEAR_MS = 365 * 24 * 3600 * 1000;

Deno.test("nodes whose clocks are decades apart form a cluster and stay healthy (TIM-01, IDN-03)", async () => {
  for (const offMs of [-3 * 60_000, 3 * 60_000, -56 * YEAR_MS, 500 * YEAR_MS]) {
    const lan = new FakeLan();
    const one = new TestNode(1, lan);
    const two = new TestNode(2, lan, { clockOffMs: offMs });
    await using first = await one.cluster;
    await using second = await two.cluster;
    await healthy(one, two);
    for (const cluster of [first, second]) {
      assert.ok(cluster.members().every(({ health }) => health === "healthy"));
      assert.equal(cluster.engines().length, 1);
    }
  }
});

Deno.test("a controller takes no seat and is given no work, and gives it", async () => {
  const lan = new FakeLan();
  const hub = new TestNode(1, lan, { role: "controller" });
  await using first = await hub.cluster;
  const two = new TestNode(2, lan);
  await using second = await two.cluster;
  await healthy(hub, two);
  const three = new TestNode(3, lan);
  await using _third = await three.cluster;
  await healthy(three);
  const seats = new Map(
    second.members().map(({ id, role, seat }) => [id, [role, seat]]),
  );
  assert.deepEqual(seats.get(nodeIdOf(1)), ["controller", null]);
  assert.deepEqual(seats.get(nodeIdOf(2)), [undefined, "community"]);
  assert.ok(second.engines().every(({ node }) => node !== nodeIdOf(1)));
  assert.ok(first.engines().some(({ node }) => node === nodeIdOf(2)));
});

Deno.test("a member's licence seats a third node, and the refused one shows why until then", async () => {
  const lan = new FakeLan();
  const licensed = await licensedFor(3);
  const one = new TestNode(1, lan, licensed);
  await using first = await one.cluster;
  const two = new TestNode(2, lan, licensed);
  await using second = await two.cluster;
  await healthy(one, two);
  const three = new TestNode(3, lan);
  await using third = await three.cluster;
  await healthy(three);
  // Who has not heard of the third would give its seat to the fourth.
  for (const [cluster, node] of [[first, one], [second, two]] as const) {
    await settled(
      () =>
        cluster.members().some(({ name, seat }) =>
          name === "node-3" && seat === "L-3"
        ),
      node,
    );
  }
  const four = new TestNode(4, lan);
  await using fourth = await four.cluster;
  await four.log.until("Failed to admit");
  const [self] = fourth.members();
  assert.match(
    self?.note ?? "",
    /licence "L-3" allows 3 nodes|2 community seats/,
  );
  assert.deepEqual(namesOf(first.members()), ["node-1", "node-2", "node-3"]);
  const seat = third.members().find(({ self }) => self)?.seat;
  assert.equal(seat, "L-3");
});

Deno.test("two members of one name both stay", async () => {
  const lan = new FakeLan();
  const one = new TestNode(1, lan, { name: "pi" });
  const two = new TestNode(2, lan, { name: "pi" });
  await using first = await one.cluster;
  await using second = await two.cluster;
  await healthy(one, two);
  for (const cluster of [first, second]) {
    assert.deepEqual(namesOf(cluster.members()), ["pi", "pi"]);
  }
});

Deno.test("a known id under another key is refused and shown as a changed identity (IDN-03)", async () => {
  const lan = new FakeLan();
  const one = new TestNode(1, lan);
  await using first = await one.cluster;
  {
    const two = new TestNode(2, lan);
    await using _second = await two.cluster;
    await healthy(one);
  }
  // The same id, and nothing else of it.
  const other = new TestNode(2, lan);
  await using _other = await other.cluster;
  await one.log.until("Identity changed");
  const member = first.members().find(({ self }) => !self);
  assert.match(member?.note ?? "", /Identity changed: a node at 127\.0\.0\.1/);
  assert.notEqual(member?.health, "healthy");
});
