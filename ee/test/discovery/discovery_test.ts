import assert from "node:assert/strict";
import { type Log, type NodeId, parseNodeId } from "@covey/core/domain";
import { createSeededEntropy, ManualClock } from "@covey/core/platform";
import {
  createDiscovery,
  type Discovery,
} from "../../src/discovery/discovery.ts";
import {
  type DnsMessage,
  queryOf,
  recordKey,
  responseOf,
} from "../../src/discovery/dns/message.ts";
import { SERVICE_TYPE } from "../../src/discovery/dns/service_records.ts";
import type { NetworkInterface } from "../../src/discovery/net/interface.ts";
import { MemoryLan } from "../../src/discovery/net/memory_lan.ts";
import type { Sighting } from "../../src/discovery/sighting.ts";

const STRANGER = { address: "192.0.2.250", port: 5353 };

interface Node extends AsyncDisposable {
  readonly id: NodeId;
  readonly discovery: Discovery;
  readonly sightings: Sighting[];
  readonly lines: string[];
  interfaces: readonly NetworkInterface[];
  /** Ids now believed to be there, with their addresses. */
  peers(): Record<string, readonly string[]>;
}

function lanInterface(name: string, ...addresses: string[]): NetworkInterface {
  return {
    name,
    kind: "lan",
    index: null,
    addresses: addresses.map((address) => ({
      address,
      family: address.includes(":") ? "IPv6" : "IPv4",
      prefixLength: address.includes(":") ? 64 : 24,
    })),
  };
}

function idOf(n: number): NodeId {
  const id = parseNodeId(
    `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`,
  );
  assert.ok(id);
  return id;
}

async function startNode(
  lan: MemoryLan,
  clock: ManualClock,
  n: number,
  options: {
    seed?: number;
    interfaces?: readonly NetworkInterface[];
    named?: readonly string[];
    advertise?: readonly string[];
  } = {},
): Promise<Node> {
  const sightings: Sighting[] = [];
  const lines: string[] = [];
  const note = (message: string) => void lines.push(message);
  const log: Log = {
    debug: note,
    info: note,
    warn: note,
    error: note,
    child: () => log,
  };
  const state = {
    interfaces: options.interfaces ??
      [lanInterface("eth0", `192.0.2.${n}`)],
  };
  const discovery = await createDiscovery({
    clock,
    entropy: createSeededEntropy(options.seed ?? n),
    log,
    interfaces: options.named ?? null,
    listInterfaces: () => state.interfaces,
    openSocket: lan.openSocket,
    service: {
      nodeId: idOf(n),
      port: 11_000 + n,
      advertise: options.advertise ?? [],
    },
    onSighting: (sighting) => void sightings.push(sighting),
  });
  return {
    id: idOf(n),
    discovery,
    sightings,
    lines,
    get interfaces() {
      return state.interfaces;
    },
    set interfaces(next) {
      state.interfaces = next;
    },
    peers() {
      const found: Record<string, readonly string[]> = {};
      for (const sighting of sightings) {
        if (sighting.kind === "seen") {
          found[sighting.claimedId] = sighting.addresses;
        } else delete found[sighting.claimedId];
      }
      return found;
    },
    [Symbol.asyncDispose]: () =>
      discovery[Symbol.asyncDispose]() as Promise<void>,
  };
}

function multicasts(lan: MemoryLan, from: string, kind: DnsMessage["kind"]) {
  return lan.sent.filter((one) =>
    one.from === from && one.message.kind === kind && one.to === null
  );
}

Deno.test("createDiscovery finds a settled node within 125 ms and is found within 1.1 s", async () => {
  const clock = new ManualClock();
  const lan = new MemoryLan(clock);
  await using a = await startNode(lan, clock, 1);
  await clock.advance(10_000);
  await using b = await startNode(lan, clock, 2);
  await clock.advance(125);
  assert.deepEqual(b.peers(), { [a.id]: ["192.0.2.1"] });
  await clock.advance(975);
  assert.deepEqual(a.peers(), { [b.id]: ["192.0.2.2"] });
  assert.deepEqual(a.discovery.state(), [
    { interface: "eth0", family: "IPv4", state: "announced" },
  ]);
  assert.equal(a.sightings.length, 1);
});

Deno.test("createDiscovery finds all of five when a fifth of the packets is lost or doubled", async () => {
  const clock = new ManualClock();
  const lan = new MemoryLan(clock);
  const chance = createSeededEntropy(7);
  lan.treat = () => {
    const draw = chance.float();
    const copies = draw < 0.2 ? 0 : draw < 0.4 ? 2 : 1;
    return { copies, delayMs: 1 + chance.float() * 30 };
  };
  await using nodes = new AsyncDisposableStack();
  const all: Node[] = [];
  for (let n = 1; n <= 5; n++) {
    all.push(nodes.use(await startNode(lan, clock, n)));
    await clock.advance(300);
  }
  await clock.advance(10_000);
  for (const node of all) {
    const others = all.filter((one) => one !== node).map((one) => one.id);
    assert.deepEqual(Object.keys(node.peers()).sort(), others);
  }
});

Deno.test("createDiscovery is quiet when nothing happens", async () => {
  const clock = new ManualClock();
  const lan = new MemoryLan(clock);
  await using a = await startNode(lan, clock, 1);
  await using b = await startNode(lan, clock, 2);
  await clock.advance(130_000);
  const before = lan.sent.length;
  await clock.advance(120_000);
  // Two nodes: a browse a minute each, and one refresh of each one's records.
  assert.ok(lan.sent.length - before <= 14, `${lan.sent.length - before}`);
  assert.equal(a.sightings.length + b.sightings.length, 2);
});

Deno.test("createDiscovery takes another name when its own is taken (MDN-04)", async () => {
  const clock = new ManualClock();
  const lan = new MemoryLan(clock);
  // The same seed draws the same instance and host names.
  await using a = await startNode(lan, clock, 1, { seed: 42 });
  await clock.advance(5_000);
  await using b = await startNode(lan, clock, 2, { seed: 42 });
  await clock.advance(5_000);
  assert.deepEqual(Object.keys(a.peers()), [b.id]);
  assert.deepEqual(Object.keys(b.peers()), [a.id]);
  const names = [a, b].map(({ sightings }) => sightings.at(-1)?.instance);
  assert.notEqual(names[0], names[1]);
  assert.equal(b.lines.filter((line) => /holds/.test(line)).length, 1);
});

Deno.test("createDiscovery settles on two names when both probe one at once (MDN-04)", async () => {
  const clock = new ManualClock();
  const lan = new MemoryLan(clock);
  await using a = await startNode(lan, clock, 1, { seed: 42 });
  await using b = await startNode(lan, clock, 2, { seed: 42 });
  await clock.advance(6_000);
  assert.deepEqual(Object.keys(a.peers()), [b.id]);
  assert.deepEqual(Object.keys(b.peers()), [a.id]);
});

Deno.test("createDiscovery keeps its name when its words come back from elsewhere (MDN-03)", async () => {
  const clock = new ManualClock();
  const lan = new MemoryLan(clock);
  await using a = await startNode(lan, clock, 1, {
    interfaces: [
      lanInterface("eth0", "192.0.2.1"),
      lanInterface("wlan0", "192.0.2.101"),
    ],
  });
  await clock.advance(4_000);
  const announced = multicasts(lan, "192.0.2.1", "response")[0]?.message;
  assert.ok(announced);
  const before = lan.sent.length;
  for (let second = 0; second < 120; second++) {
    lan.inject(announced, STRANGER);
    await clock.advance(1_000);
  }
  const names = new Set(
    lan.sent.flatMap(({ message }) => message.answers)
      .filter((record) => record.type === "SRV").map((record) => record.name),
  );
  assert.equal(names.size, 1);
  assert.ok(a.lines.length <= 1, a.lines.join());
  assert.deepEqual(a.sightings, []);
  assert.ok((lan.sent.length - before) / 120 < 1);
});

Deno.test("createDiscovery bounds its renaming when somebody claims every name", async () => {
  const clock = new ManualClock();
  const lan = new MemoryLan(clock);
  await using a = await startNode(lan, clock, 1);
  const answered = new Set<DnsMessage>();
  for (let step = 0; step < 300; step++) {
    const probe = lan.sent.at(-1)?.message;
    if (probe?.authorities.length && !answered.has(probe)) {
      answered.add(probe);
      const answers = probe.authorities.map((record) =>
        record.type === "SRV" ? { ...record, target: "thief.local" } : record
      );
      lan.inject(responseOf({ answers }), STRANGER);
    }
    await clock.advance(200);
  }
  assert.ok(answered.size >= 15 && answered.size < 30, `${answered.size}`);
  assert.equal(a.lines.length, 1);
});

Deno.test("createDiscovery says goodbye when it is disposed of", async () => {
  const clock = new ManualClock();
  const lan = new MemoryLan(clock);
  await using a = await startNode(lan, clock, 1);
  const b = await startNode(lan, clock, 2);
  await clock.advance(3_000);
  assert.deepEqual(Object.keys(a.peers()), [b.id]);
  await b[Symbol.asyncDispose]();
  await clock.advance(10);
  assert.deepEqual(a.sightings.at(-1), {
    kind: "goodbye",
    instance: a.sightings[0]?.instance,
    claimedId: b.id,
  });
  assert.equal(lan.open, 1);
});

Deno.test("createDiscovery lets a silent node run out and sees it again when the link heals", async () => {
  const clock = new ManualClock();
  const lan = new MemoryLan(clock);
  await using a = await startNode(lan, clock, 1);
  await using b = await startNode(lan, clock, 2);
  await clock.advance(3_000);
  const whole = lan.treat;
  lan.treat = ({ from, to }) => ({ copies: from === to ? 1 : 0, delayMs: 1 });
  await clock.advance(90_000);
  assert.deepEqual(Object.keys(a.peers()), [b.id]);
  await clock.advance(35_000);
  assert.deepEqual(a.peers(), {});
  lan.treat = whole;
  a.discovery.refresh();
  await clock.advance(1_500);
  assert.deepEqual(Object.keys(a.peers()), [b.id]);
});

Deno.test("createDiscovery tells a new address within 5 s when DHCP gives one (MDN-06)", async () => {
  const clock = new ManualClock();
  const lan = new MemoryLan(clock);
  await using a = await startNode(lan, clock, 1);
  await using b = await startNode(lan, clock, 2);
  await clock.advance(30_000);
  b.interfaces = [lanInterface("eth0", "192.0.2.99")];
  await clock.advance(5_000);
  assert.deepEqual(a.peers(), { [b.id]: ["192.0.2.99"] });
  assert.equal(lan.open, 2);
  assert.equal(a.sightings.some((one) => one.kind === "goodbye"), false);
});

Deno.test("createDiscovery follows interfaces when they come and go", async () => {
  const clock = new ManualClock();
  const lan = new MemoryLan(clock);
  const loopback: NetworkInterface = {
    ...lanInterface("lo", "127.0.0.1"),
    kind: "loopback",
  };
  await using a = await startNode(lan, clock, 1, { interfaces: [loopback] });
  const places = () => a.discovery.state().map((one) => one.interface);
  assert.deepEqual(places(), ["lo"]);
  a.interfaces = [loopback, lanInterface("eth0", "192.0.2.1")];
  await clock.advance(2_500);
  assert.deepEqual(places(), ["eth0"]);
  assert.equal(lan.open, 1);
  a.interfaces = [];
  await clock.advance(2_500);
  assert.deepEqual(places(), []);
  assert.equal(lan.open, 0);
});

Deno.test("createDiscovery is degraded with a reason when a socket fails, and recovers (MDN-08)", async () => {
  const clock = new ManualClock();
  const lan = new MemoryLan(clock);
  lan.refuse("192.0.2.1", "UDP port 5353 is held");
  await using a = await startNode(lan, clock, 1, {
    named: ["eth0", "wlan7"],
  });
  assert.deepEqual(a.discovery.state(), [
    {
      interface: "wlan7",
      family: "IPv4",
      state: "degraded",
      reason: 'there is no interface or address "wlan7"',
    },
    {
      interface: "eth0",
      family: "IPv4",
      state: "degraded",
      reason: "UDP port 5353 is held",
    },
  ]);
  await clock.advance(100_000);
  const told = a.lines.length;
  assert.equal(told, 2);
  lan.refuse("192.0.2.1", null);
  await clock.advance(60_000);
  assert.equal(a.discovery.state()[1]?.state, "announced");

  lan.break("192.0.2.1", "the interface is gone");
  assert.equal(a.discovery.state()[1]?.state, "degraded");
  await clock.advance(12_000);
  assert.equal(a.discovery.state()[1]?.state, "announced");
  assert.equal(lan.open, 1);
});

Deno.test("createDiscovery gives a socket up when the system refuses what it sends (MDN-08)", async () => {
  const clock = new ManualClock();
  const lan = new MemoryLan(clock);
  lan.failSends = "network is unreachable";
  await using a = await startNode(lan, clock, 1);
  await clock.advance(2_000);
  const [state] = a.discovery.state();
  assert.match(
    state?.state === "degraded" ? state.reason : "",
    /"eth0": network is unreachable/,
  );
  assert.equal(lan.open, 0);
  lan.failSends = null;
  await clock.advance(12_000);
  assert.equal(a.discovery.state()[0]?.state, "announced");
});

Deno.test("createDiscovery multicasts a record once a second at most when many ask", async () => {
  const clock = new ManualClock();
  const lan = new MemoryLan(clock);
  await using _a = await startNode(lan, clock, 1);
  await clock.advance(5_000);
  const before = multicasts(lan, "192.0.2.1", "response").length;
  const ask = queryOf({
    questions: [{ name: SERVICE_TYPE, type: "PTR", unicast: false }],
  });
  for (let n = 0; n < 100; n++) {
    lan.inject(ask, STRANGER);
    await clock.advance(50);
  }
  await clock.advance(2_000);
  const answers = multicasts(lan, "192.0.2.1", "response").slice(before);
  assert.ok(answers.length >= 5 && answers.length <= 7, `${answers.length}`);
  answers.forEach((one, index) => {
    const previous = answers[index - 1];
    assert.ok(previous === undefined || one.atMs - previous.atMs >= 1_000);
  });
});

Deno.test("createDiscovery answers by unicast when asked so, and waits for known answers that follow", async () => {
  const clock = new ManualClock();
  const lan = new MemoryLan(clock);
  await using _a = await startNode(lan, clock, 1);
  await using _stranger = await lan.openSocket({
    interfaceName: "eth0",
    family: "IPv4",
    address: STRANGER.address,
    onMessage: () => {},
    onFailure: () => {},
  });
  await clock.advance(5_000);
  const question = { name: SERVICE_TYPE, type: "PTR" } as const;
  const start = lan.sent.length;
  const since = () =>
    lan.sent.slice(start).filter((o) => o.from === "192.0.2.1");

  lan.inject(
    queryOf({ questions: [{ ...question, unicast: true }] }),
    STRANGER,
  );
  await clock.advance(600);
  assert.deepEqual(since().map((one) => one.to), [STRANGER]);

  const plain = { ...STRANGER, port: 50_000 };
  lan.inject(
    queryOf({ id: 77, questions: [{ ...question, unicast: false }] }),
    plain,
  );
  await clock.advance(10);
  const legacy = since().at(-1);
  assert.deepEqual(legacy?.to, plain);
  assert.equal(legacy?.message.id, 77);
  assert.ok(
    legacy?.message.answers.every((r) => r.ttlSeconds <= 10 && !r.flush),
  );

  const count = since().length;
  const pointer = lan.sent.flatMap(({ message }) => message.answers)
    .find((record) => record.type === "PTR");
  assert.ok(pointer);
  lan.inject(
    queryOf({
      truncated: true,
      questions: [{ ...question, unicast: false }],
    }),
    STRANGER,
  );
  await clock.advance(100);
  lan.inject(queryOf({ answers: [pointer] }), STRANGER);
  await clock.advance(2_000);
  assert.equal(since().length, count, "the pointer was known after all");
});

Deno.test("createDiscovery ignores senders from other networks and other ports", async () => {
  const clock = new ManualClock();
  const lan = new MemoryLan(clock);
  await using a = await startNode(lan, clock, 1);
  await using _b = await startNode(lan, clock, 2);
  await clock.advance(3_000);
  const words = multicasts(lan, "192.0.2.2", "response")[0]?.message;
  assert.ok(words);
  const renamed: DnsMessage = JSON.parse(
    JSON.stringify(words).replaceAll(idOf(2), idOf(9)),
  );
  const before = a.sightings.length;
  lan.inject(renamed, { address: "198.51.100.9", port: 5353 });
  lan.inject(renamed, { ...STRANGER, port: 40_000 });
  await clock.advance(100);
  assert.equal(a.sightings.length, before);
  lan.inject(renamed, STRANGER);
  await clock.advance(100);
  assert.deepEqual(Object.keys(a.peers()), [idOf(9)]);
});

Deno.test("createDiscovery announces given addresses when the host can not know them", async () => {
  const clock = new ManualClock();
  const lan = new MemoryLan(clock);
  await using a = await startNode(lan, clock, 1, {
    advertise: ["192.0.2.77", "box.example"],
  });
  await using b = await startNode(lan, clock, 2);
  await clock.advance(3_000);
  assert.deepEqual(b.peers(), { [a.id]: ["192.0.2.77"] });
  assert.equal(a.lines.length, 1);
  const keys = lan.sent.flatMap(({ message }) => message.answers)
    .map(recordKey);
  assert.equal(keys.some((key) => key.endsWith(" 192.0.2.1")), false);
});
