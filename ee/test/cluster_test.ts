import assert from "node:assert/strict";
import { Secret } from "@covey/core/domain";
import {
  createSeededEntropy,
  createSystemClock,
  MemoryFiles,
} from "@covey/core/platform";
import { createClusterOn } from "../src/cluster.ts";
import {
  FakeLan,
  healthy,
  namesOf,
  noMetrics,
  SECRET,
  TestNode,
  WaitingLog,
  WORK,
} from "./cluster_fixture.ts";
import { attemptFrom, nodeIdOf } from "./link/link_fixture.ts";

Deno.test("two clusters of one secret become one, do each other's work and part in good order", async () => {
  const lan = new FakeLan();
  const one = new TestNode(1, lan);
  const two = new TestNode(2, lan);
  await using first = await one.cluster;
  {
    await using second = await two.cluster;
    await healthy(one, two);
    for (const cluster of [first, second]) {
      assert.deepEqual(namesOf(cluster.members()), ["node-1", "node-2"]);
      assert.ok(cluster.members().every(({ health }) => health === "healthy"));
    }
    assert.equal(first.id(), second.id());
    const [engine] = first.engines();
    assert.equal(engine?.node, nodeIdOf(2));
    assert.equal(engine?.view().availability.kind, "available");
    const started = await engine?.start(
      attemptFrom(nodeIdOf(1)),
      new AbortController().signal,
    );
    if (started?.kind !== "accepted") throw new Error("Not accepted");
    const { body } = await started.answer();
    assert.equal(await new Response(body as BodyInit).text(), "from 2");
  }
  // The goodbye leads to a poll, and that to a refused dial.
  await one.log.until("A member's health changed");
  assert.equal(first.engines()[0]?.view().availability.kind, "unavailable");
});

Deno.test("a cluster of another secret is never joined, by either side", async () => {
  const lan = new FakeLan();
  const one = new TestNode(1, lan);
  const two = new TestNode(2, lan, { secret: "quite another secret 123" });
  await using first = await one.cluster;
  await using second = await two.cluster;
  await Promise.all([
    one.log.until("Admission was refused by a node nearby"),
    two.log.until("Admission was refused by a node nearby"),
  ]);
  assert.deepEqual(namesOf(first.members()), ["node-1"]);
  assert.deepEqual(namesOf(second.members()), ["node-2"]);
  assert.deepEqual(first.engines(), []);
});

Deno.test("a third node without a licence is refused with the reason on both sides", async () => {
  const lan = new FakeLan();
  const one = new TestNode(1, lan);
  await using first = await one.cluster;
  const two = new TestNode(2, lan);
  await using _second = await two.cluster;
  await healthy(one);
  const three = new TestNode(3, lan);
  await using third = await three.cluster;
  await Promise.race([
    one.log.until("A node was not admitted"),
    two.log.until("A node was not admitted"),
    three.log.until("A node was not admitted"),
  ]);
  await Promise.race([
    one.log.until("This node was refused"),
    two.log.until("This node was refused"),
    three.log.until("This node was refused"),
  ]);
  assert.deepEqual(namesOf(first.members()), ["node-1", "node-2"]);
  assert.deepEqual(namesOf(third.members()), ["node-3"]);
});

Deno.test("a member comes back after a restart without admission, at another port", async () => {
  const lan = new FakeLan();
  const one = new TestNode(1, lan);
  const before = new TestNode(2, lan);
  await using first = await one.cluster;
  {
    await using _second = await before.cluster;
    await healthy(one, before);
  }
  await one.log.until("A member's health changed");
  one.log.lines.length = 0;
  const after = new TestNode(2, lan, { files: before.files });
  await using second = await after.cluster;
  await healthy(one, after);
  assert.ok(!after.log.lines.some(({ message }) => /member now/.test(message)));
  assert.deepEqual(namesOf(second.members()), namesOf(first.members()));
});

Deno.test("a node with a rotated secret keeps its members, and both secrets admit", async () => {
  const lan = new FakeLan();
  const one = new TestNode(1, lan, { secret: "the older secret 123" });
  const two = new TestNode(2, lan, {
    secret: SECRET,
    previous: "the older secret 123",
  });
  await using first = await one.cluster;
  await using _second = await two.cluster;
  await healthy(one, two);
  assert.deepEqual(namesOf(first.members()), ["node-1", "node-2"]);
});

Deno.test("a port in use is one line that names COVEY_LINK_PORT, and the node lives on alone", async () => {
  using holder = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const log = new WaitingLog();
  const { port } = holder.addr as Deno.NetAddr;
  const platform = {
    clock: createSystemClock(),
    entropy: createSeededEntropy(1),
    files: new MemoryFiles(),
    processes: {
      self: [],
      spawn: () => {
        throw new Error("None");
      },
    },
  };
  await using cluster = await createClusterOn(
    {
      log,
      metrics: noMetrics,
      node: { id: nodeIdOf(1), name: "node-1", version: "0.1.0" },
      config: {
        secret: new Secret(SECRET),
        previousSecret: null,
        linkHost: "127.0.0.1",
        linkPort: port,
        advertise: [],
        peers: [],
        mdnsInterfaces: null,
        licence: null,
      },
      stateDir: "/state",
      router: {
        report: () => WORK,
        serve: () => Promise.reject(new Error("Not expected")),
      },
    },
    platform,
    new FakeLan().discover,
  );
  await log.until("COVEY_LINK_PORT");
  assert.match(
    log.lines.at(-1)?.message ?? "",
    new RegExp(`127\\.0\\.0\\.1:${port}.*in use`),
  );
  assert.deepEqual(namesOf(cluster.members()), ["node-1"]);
  assert.equal(cluster.id(), null);
});
