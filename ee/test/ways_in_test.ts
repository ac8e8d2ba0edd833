import assert from "node:assert/strict";
import {
  type Cluster,
  type ClusterAction,
  Fault,
  isJsonObject,
  type JsonObject,
} from "@covey/core/domain";
import {
  FakeLan,
  healthy,
  namesOf,
  SECRET,
  settled,
  TestNode,
} from "./cluster_fixture.ts";
import { licensedFor } from "./licence/issuer.ts";

const OLD = "the older secret 123";

/** Ask a cluster to do something; whatever it says is an object. */
async function act(
  cluster: Cluster,
  action: ClusterAction,
  body: JsonObject = {},
): Promise<JsonObject> {
  const answer = await cluster.act(
    action,
    body,
    new AbortController().signal,
  );
  assert.ok(isJsonObject(answer));
  return answer;
}

async function tokenOf(cluster: Cluster): Promise<string> {
  return String((await act(cluster, "invite")).token);
}

/** What an action is refused with. */
async function refusal(
  cluster: Cluster,
  action: ClusterAction,
  body: JsonObject = {},
): Promise<string> {
  const answer = await act(cluster, action, body).catch((error) => error);
  assert.ok(answer instanceof Fault, JSON.stringify(answer));
  return answer.message;
}

async function eventsOf(cluster: Cluster): Promise<JsonObject[]> {
  const { events } = await act(cluster, "audit");
  return Array.isArray(events) ? events.filter(isJsonObject) : [];
}

Deno.test("who looks while a cluster comes about is answered as by a node alone", async () => {
  const one = new TestNode(1, new FakeLan(), { secret: null });
  await using first = await one.cluster;
  // Nothing has turned up: what founds one has not said so yet.
  assert.deepEqual(await act(first, "copies"), { copies: [], unknown: [] });
  assert.deepEqual(await act(first, "refresh"), { asked: 0 });
  await tokenOf(first);
  assert.deepEqual(await act(first, "refresh"), { asked: 0 });
});

Deno.test("a node without a secret founds a cluster by inviting, and both resume it after a restart", async () => {
  const lan = new FakeLan();
  const one = new TestNode(1, lan, { secret: null });
  const two = new TestNode(2, lan, { secret: null });
  let id: string | null;
  {
    await using first = await one.cluster;
    await using second = await two.cluster;
    await assert.rejects(act(second, "door"), Fault);
    assert.ok(first.dormant() && second.dormant());
    const token = await tokenOf(first);
    assert.ok(!first.dormant());
    const joined = await act(second, "join", { token: ` ${token}\n` });
    assert.equal(joined.by, "node-1");
    await healthy(one, two);
    id = first.id();
    assert.equal(second.id(), id);
  }
  const again = new TestNode(1, lan, { secret: null, files: one.files });
  const other = new TestNode(2, lan, { secret: null, files: two.files });
  await using first = await again.cluster;
  await using second = await other.cluster;
  await healthy(again, other);
  assert.equal(first.id(), id);
  assert.deepEqual(namesOf(second.members()), ["node-1", "node-2"]);
});

Deno.test("a token lets one node in: not a second one, not after its time, not after a restart", async () => {
  const lan = new FakeLan();
  let movedOnMs = 0;
  const one = new TestNode(1, lan, {
    secret: null,
    movedOnMs: () => movedOnMs,
  });
  const two = new TestNode(2, lan, { secret: null });
  const three = new TestNode(3, lan, { secret: null });
  await using second = await two.cluster;
  await using third = await three.cluster;
  let voided: string;
  {
    await using first = await one.cluster;
    const used = await tokenOf(first);
    await act(second, "join", { token: used });
    assert.match(
      await refusal(third, "join", { token: used }),
      /expired or was used by another node/,
    );
    const late = await tokenOf(first);
    movedOnMs += 600_000;
    assert.match(
      await refusal(third, "join", { token: late }),
      /does not know this token/,
    );
    voided = await tokenOf(first);
    const kinds = (await eventsOf(first)).map(({ event, way }) =>
      `${event} ${way}`
    );
    assert.deepEqual(kinds, [
      "invited token",
      "admitted token",
      "refused token",
      "invited token",
      "refused token",
      "invited token",
    ]);
  }
  assert.match(
    await refusal(third, "join", { token: voided }),
    /can not be reached/,
  );
  assert.ok(third.dormant());
  assert.match(
    await refusal(third, "join", { token: voided.slice(0, -1) }),
    /checksum|cut off|letters/,
  );
});

Deno.test("a code lets one node in, and the sixth wrong run voids it", async () => {
  const lan = new FakeLan();
  const one = new TestNode(1, lan, { secret: null });
  const two = new TestNode(2, lan, { secret: null });
  await using first = await one.cluster;
  await using second = await two.cluster;
  const { addresses, code } = await act(first, "invite", { code: true });
  assert.ok(Array.isArray(addresses));
  const [at = ""] = addresses;
  const wrong = code === "00000000" ? "00000001" : "00000000";
  for (let run = 0; run < 6; run++) {
    assert.match(
      await refusal(second, "join", { code: wrong, at }),
      /has no such code/,
    );
  }
  assert.match(
    await refusal(second, "join", { code: String(code), at }),
    /has no such code/,
  );
  assert.ok(
    (await eventsOf(first)).some(({ event }) => event === "code_voided"),
  );
  const fresh = await act(first, "invite", { code: true });
  await act(second, "join", { code: String(fresh.code), at });
  await healthy(one);
  assert.deepEqual(namesOf(first.members()), ["node-1", "node-2"]);
});

Deno.test("a removed member is kept out by its row, whatever secret it knows, and returns by invitation", async () => {
  const lan = new FakeLan();
  const one = new TestNode(1, lan);
  const two = new TestNode(2, lan);
  await using first = await one.cluster;
  await using second = await two.cluster;
  await healthy(one, two);
  const answer = await act(first, "remove", { member: "node-2" });
  assert.match(String(answer.message), /can return as a new member/);
  assert.deepEqual(namesOf(first.members()), ["node-1"]);
  await two.log.until("This node was removed from the cluster");
  assert.deepEqual(namesOf(second.members()), ["node-2"]);
  const [removed] = second.members();
  assert.equal(removed?.state, "removed");
  assert.match(removed?.note ?? "", /took this node out .* `covey join`/);
  assert.match(await refusal(second, "invite"), /was removed/);
  assert.match(
    await refusal(first, "remove", { member: "node-2" }),
    /No member/,
  );
  assert.match(
    await refusal(first, "remove", { member: "node-1" }),
    /covey leave/,
  );

  await act(second, "join", { token: await tokenOf(first) });
  assert.deepEqual(namesOf(first.members()), ["node-1", "node-2"]);
  assert.deepEqual(namesOf(second.members()), ["node-1", "node-2"]);
  assert.equal(second.members()[0]?.state, "member");
});

Deno.test("a member that was removed while it was away learns why nobody gives it a status", async () => {
  const lan = new FakeLan();
  const one = new TestNode(1, lan);
  const two = new TestNode(2, lan);
  await using first = await one.cluster;
  {
    await using _second = await two.cluster;
    await healthy(one, two);
  }
  await act(first, "remove", { member: "node-2" });
  const back = new TestNode(2, lan, { files: two.files });
  await using second = await back.cluster;
  await back.log.until("A member gives no status");
  const there = () => second.members().find(({ self }) => !self);
  assert.equal(there()?.health, "offline");
  assert.match(there()?.note ?? "", /an operator removed it/);

  await act(second, "join", { token: await tokenOf(first) });
  await healthy(back);
  assert.equal(there()?.note, undefined);
});

Deno.test("expelling closes the door: the secret lets nobody in, a token does, and the door opens again", async () => {
  const lan = new FakeLan();
  const one = new TestNode(1, lan);
  const two = new TestNode(2, lan);
  await using first = await one.cluster;
  {
    await using _second = await two.cluster;
    await healthy(one);
    await act(first, "remove", { member: "node-2", expel: true });
  }
  assert.deepEqual(await act(first, "door"), {
    door: "closed",
    changed: false,
  });
  // The same host, as a new member: it still knows the secret.
  const back = new TestNode(3, lan);
  await using third = await back.cluster;
  await back.log.until("This node was refused by a cluster of the same secret");
  assert.deepEqual(namesOf(first.members()), ["node-1"]);
  assert.deepEqual(namesOf(third.members()), ["node-3"]);
  await act(third, "join", { token: await tokenOf(first) });
  assert.deepEqual(namesOf(third.members()), ["node-1", "node-3"]);
  // The newcomer heard of the door with its admission.
  assert.deepEqual(await act(third, "door"), {
    door: "closed",
    changed: false,
  });
  await healthy(back);
  const opened = await act(third, "door", { state: "open" });
  assert.deepEqual(opened.told, ["node-1"]);
  await one.log.until("The door is open");
  assert.equal((await act(first, "door")).door, "open");
});

for (const order of ["the older one first", "the newer one first"] as const) {
  Deno.test(`a rotated secret admits both ways, ${order}, and keeps the table`, async () => {
    const lan = new FakeLan();
    const older = new TestNode(1, lan, { secret: OLD });
    const newer = () => new TestNode(2, lan, { secret: SECRET, previous: OLD });
    const two = order === "the older one first" ? null : newer();
    await using early = await two?.cluster ?? null;
    await using first = await older.cluster;
    const other = two ?? newer();
    await using second = early === null ? await other.cluster : null;
    await healthy(older, other);
    const names = ["node-1", "node-2"];
    assert.deepEqual(namesOf(first.members()), names);
    assert.deepEqual(namesOf((early ?? second)?.members() ?? []), names);
  });
}

Deno.test("hosts rotate one by one and stay one cluster until no old secret is left", async () => {
  const lan = new FakeLan();
  const files: TestNode["files"][] = [];
  const phases = [
    [{ secret: OLD }, { secret: OLD }],
    [{ secret: SECRET, previous: OLD }, { secret: OLD }],
    [{ secret: SECRET, previous: OLD }, { secret: SECRET, previous: OLD }],
    [{ secret: SECRET }, { secret: SECRET, previous: OLD }],
    [{ secret: SECRET }, { secret: SECRET }],
  ];
  for (const [phase, settings] of phases.entries()) {
    const nodes = settings.map((one, at) => {
      const kept = files[at];
      return new TestNode(at + 1, lan, {
        ...one,
        ...(kept === undefined ? {} : { files: kept }),
      });
    });
    const [one, two] = nodes;
    if (one === undefined || two === undefined) throw new Error("Two nodes");
    await using first = await one.cluster;
    await using _second = await two.cluster;
    await Promise.all(nodes.map(({ log }) => log.until("A member is healthy")));
    assert.deepEqual(namesOf(first.members()), ["node-1", "node-2"]);
    const admitted = (await eventsOf(first)).length > 0;
    if (phase > 0) assert.ok(!admitted, "The table was carried over");
    nodes.forEach((node, at) => files[at] = node.files);
  }
});

Deno.test("a changed secret leaves the old cluster at once and says so", async () => {
  const lan = new FakeLan();
  const one = new TestNode(1, lan, { secret: OLD });
  const before = new TestNode(2, lan, { secret: OLD });
  await using first = await one.cluster;
  {
    await using _second = await before.cluster;
    await healthy(one);
  }
  const after = new TestNode(2, lan, { files: before.files });
  await using second = await after.cluster;
  await after.log.until("has left those clusters");
  await after.log.until("Admission was refused by a node nearby");
  assert.deepEqual(namesOf(second.members()), ["node-2"]);
  assert.notEqual(second.id(), first.id());
});

Deno.test("leaving tells the others and keeps nothing; with a secret it is refused with the remedy", async () => {
  const lan = new FakeLan();
  const one = new TestNode(1, lan, { secret: null });
  const two = new TestNode(2, lan, { secret: null });
  await using first = await one.cluster;
  await using second = await two.cluster;
  await act(second, "join", { token: await tokenOf(first) });
  await healthy(one, two);
  const left = await act(second, "leave");
  assert.deepEqual(left.told, ["node-1"]);
  assert.ok(second.dormant());
  assert.equal(second.id(), null);
  await one.log.until("A member was removed");
  assert.deepEqual(namesOf(first.members()), ["node-1"]);
  const kept = (await two.files.list("/state")).map(({ name }) => name);
  assert.deepEqual(kept, ["identity.json"]);

  const three = new TestNode(3, lan);
  await using third = await three.cluster;
  await three.log.until("The member link is open");
  assert.match(await refusal(third, "leave"), /unset COVEY_CLUSTER_SECRET/);
  await act(third, "leave", { untilRestart: true });
  assert.ok(third.dormant());
});

Deno.test("a node in one cluster is not let into another", async () => {
  const lan = new FakeLan();
  const one = new TestNode(1, lan);
  const two = new TestNode(2, lan, { secret: null });
  await using first = await one.cluster;
  await using second = await two.cluster;
  const own = await tokenOf(second);
  assert.match(
    await refusal(first, "join", { token: own }),
    /another cluster: run `covey leave` there first/,
  );
  assert.match(await refusal(second, "join", { token: own }), /issued that/);
  // Nobody came to its own cluster, so it may go.
  await act(second, "join", { token: await tokenOf(first) });
  assert.equal(second.id(), first.id());
});

Deno.test("secret, token and code are in no log line, event, answer or error", async () => {
  const lan = new FakeLan();
  const one = new TestNode(1, lan);
  const two = new TestNode(2, lan, { secret: null });
  await using first = await one.cluster;
  await using second = await two.cluster;
  const token = await tokenOf(first);
  const code = String((await act(first, "invite", { code: true })).code);
  const said = [
    await refusal(second, "join", { token: `${token.slice(0, -1)}` }),
    await refusal(second, "join", { code: `${code}9`, at: "127.0.0.1" }),
    await refusal(second, "join", { token, code }),
    await refusal(second, "join", { code, at: "127.0.0.1:1" }),
    await refusal(second, "join", { code, at: `${code}::${code}` }),
    JSON.stringify(await act(second, "join", { token })),
  ];
  await healthy(one);
  for (const cluster of [first, second]) {
    said.push(JSON.stringify(await eventsOf(cluster)));
    said.push(JSON.stringify(cluster.members()));
  }
  for (const { lines } of [one.log, two.log]) said.push(JSON.stringify(lines));
  const hidden = [SECRET, code, token, ...token.split("-").slice(3, 9)];
  for (const text of said) {
    for (const one of hidden) assert.ok(!text.includes(one), text);
  }
});

Deno.test("a removal reaches every member at once", async () => {
  const lan = new FakeLan();
  const licensed = await licensedFor(3);
  const nodes = [1, 2, 3].map((n) => new TestNode(n, lan, licensed));
  const [one, two, three] = nodes;
  if (one === undefined || two === undefined || three === undefined) {
    throw new Error("Three nodes");
  }
  await using first = await one.cluster;
  await using second = await two.cluster;
  await healthy(one, two);
  await using third = await three.cluster;
  await healthy(three);
  await settled(() => second.members().length === 3, two);
  await settled(() => third.members().length === 3, three);
  await settled(
    () => first.members().every(({ health }) => health === "healthy"),
    one,
  );
  const { told } = await act(first, "remove", { member: "node-3" });
  assert.deepEqual(told, ["node-2"]);
  await two.log.until("A member was removed");
  assert.deepEqual(namesOf(second.members()), ["node-1", "node-2"]);
  await three.log.until("This node was removed from the cluster");
  assert.deepEqual(namesOf(third.members()), ["node-3"]);
  const heard = await eventsOf(second);
  assert.ok(
    heard.some(({ by, event }) => event === "removed" && by === "node-1"),
  );
});
