import assert from "node:assert/strict";
import { type NodeId, parseNodeId } from "@covey/core/domain";
import {
  type DnsMessage,
  type DnsRecord,
  responseOf,
} from "../../src/discovery/dns/message.ts";
import {
  goodbyeRecords,
  SERVICE_TYPE,
  serviceRecords,
} from "../../src/discovery/dns/service_records.ts";
import type { NetworkInterface } from "../../src/discovery/net/interface.ts";
import {
  MOST_SIGHTINGS,
  SightingCache,
} from "../../src/discovery/sighting_cache.ts";

const OWN_ID = parseNodeId("00000000-0000-4000-8000-000000000001") as NodeId;
const ID = parseNodeId("3f2b8a52-7d4e-4c1b-9a0e-5b6c7d8e9f01") as NodeId;
const ETH: NetworkInterface = {
  name: "eth0",
  kind: "lan",
  index: 2,
  addresses: [
    { address: "192.0.2.1", family: "IPv4", prefixLength: 24 },
    { address: "169.254.0.1", family: "IPv4", prefixLength: 16 },
    { address: "fe80::1", family: "IPv6", prefixLength: 64 },
  ],
};

function recordsOf(
  addresses: readonly string[],
  { label = "peer", nodeId = ID, port = 11412 } = {},
) {
  const names = {
    instance: label,
    instanceName: `${label}.${SERVICE_TYPE}`,
    hostName: `${label}-host.local`,
  };
  return serviceRecords(names, { nodeId, port }, addresses);
}

function announce(
  addresses: readonly string[],
  options?: Parameters<typeof recordsOf>[1],
): DnsMessage {
  const { shared, unique } = recordsOf(addresses, options);
  return responseOf({ answers: [...shared, ...unique] });
}

Deno.test("SightingCache tells addresses best first when an announcement is complete (MDN-01)", () => {
  const cache = new SightingCache(OWN_ID);
  const told = cache.hear(
    announce(["172.17.0.1", "fe80::9", "169.254.7.7", "192.0.2.9", "::1"]),
    ETH,
    0,
  );
  assert.deepEqual(told, [{
    kind: "seen",
    instance: "peer",
    claimedId: ID,
    addresses: ["192.0.2.9", "169.254.7.7", "fe80::9%eth0"],
    port: 11412,
    interfaceName: "eth0",
  }]);
  assert.deepEqual(cache.hear(announce(["192.0.2.9"]), ETH, 500), []);
});

Deno.test("SightingCache tells nothing when an announcement is not for it", () => {
  const id = (entry: string): DnsMessage => {
    const message = announce(["192.0.2.9"]);
    const answers = message.answers.map((record) =>
      record.type === "TXT" ? { ...record, entries: entry.split(";") } : record
    );
    return { ...message, answers };
  };
  const table: [string, DnsMessage][] = [
    ["own id", announce(["192.0.2.9"], { nodeId: OWN_ID })],
    ["port 0", announce(["192.0.2.9"], { port: 0 })],
    ["no address on this link", announce(["198.51.100.1", "127.0.0.1"])],
    ["another version", id(`v=2;id=${ID}`)],
    ["no version", id(`id=${ID}`)],
    ["no id", id("v=1")],
    ["no UUID", id("v=1;id=../../x")],
    ["first key counts", id(`v=1;id=x;id=${ID}`)],
    ["name too deep", announce(["192.0.2.9"], { label: "a.b" })],
  ];
  for (const [name, message] of table) {
    assert.deepEqual(new SightingCache(OWN_ID).hear(message, ETH, 0), [], name);
  }
  const odd = new SightingCache(OWN_ID)
    .hear(id(`V=1;ID=${ID.toUpperCase()};new=field`), ETH, 0);
  assert.equal(odd[0]?.claimedId, ID);
});

Deno.test("SightingCache replaces an address when the new one has the flush bit (MDN-06)", () => {
  const cache = new SightingCache(OWN_ID);
  cache.hear(announce(["169.254.1.5"]), ETH, 0);
  const [seen] = cache.hear(announce(["192.0.2.9"]), ETH, 5_000);
  assert.deepEqual(seen?.kind === "seen" && seen.addresses, ["192.0.2.9"]);
});

Deno.test("SightingCache puts the new address first when it has no flush bit (MDN-06)", () => {
  const cache = new SightingCache(OWN_ID);
  const plain = (address: string) => {
    const message = announce([address]);
    const answers = message.answers.map((one) => ({ ...one, flush: false }));
    return { ...message, answers };
  };
  cache.hear(plain("192.0.2.5"), ETH, 0);
  const [seen] = cache.hear(plain("169.254.1.9"), ETH, 5_000);
  assert.deepEqual(
    seen?.kind === "seen" && seen.addresses,
    ["169.254.1.9", "192.0.2.5"],
  );
});

Deno.test("SightingCache keeps the order of addresses when they are said again", () => {
  const cache = new SightingCache(OWN_ID);
  const message = announce(["192.0.2.9", "192.0.2.10"]);
  assert.equal(cache.hear(message, ETH, 0).length, 1);
  for (const nowMs of [3_000, 60_000, 90_000]) {
    assert.deepEqual(cache.hear(message, ETH, nowMs), []);
  }
});

Deno.test("SightingCache says goodbye once when a node leaves or runs out", () => {
  const cache = new SightingCache(OWN_ID);
  const goodbye = { kind: "goodbye", instance: "peer", claimedId: ID };
  const leave = responseOf({
    answers: goodbyeRecords(recordsOf(["192.0.2.9"])),
  });
  cache.hear(announce(["192.0.2.9"]), ETH, 0);
  assert.deepEqual(cache.hear(leave, ETH, 1_000), [goodbye]);
  assert.deepEqual(cache.hear(leave, ETH, 1_000), []);
  assert.equal(cache.size, 0);

  cache.hear(announce(["192.0.2.9"]), ETH, 2_000);
  assert.deepEqual(cache.expire(121_999), []);
  assert.deepEqual(cache.expire(122_000), [goodbye]);
  assert.deepEqual(cache.expire(5_000_000), []);
  assert.equal(cache.size, 0);
});

Deno.test("SightingCache asks again at 80 to 95 % when a record nears its end", () => {
  const cache = new SightingCache(OWN_ID);
  cache.hear(announce(["192.0.2.9"]), ETH, 0);
  const asked = (nowMs: number) =>
    cache.questionsDue("eth0", nowMs).map((one) => `${one.type} ${one.name}`);
  const both = [`SRV peer.${SERVICE_TYPE}`, "A peer-host.local"];
  assert.deepEqual(asked(95_999), []);
  assert.deepEqual(asked(96_000), both);
  assert.deepEqual(asked(97_000), []);
  for (const nowMs of [102_000, 108_000, 114_000]) {
    assert.deepEqual(asked(nowMs), both);
  }
  assert.deepEqual(asked(119_000), []);
  cache.hear(announce(["192.0.2.9"]), ETH, 119_000);
  assert.deepEqual(asked(119_001), []);
  assert.deepEqual(asked(119_000 + 96_000), both);
});

Deno.test("SightingCache asks three times for what a pointer came without", () => {
  const cache = new SightingCache(OWN_ID);
  const { shared, unique } = recordsOf(["192.0.2.9"]);
  const [srv, txt, address] = unique as [DnsRecord, DnsRecord, DnsRecord];
  cache.hear(responseOf({ answers: shared }), ETH, 0);
  const asked = () => cache.questionsDue("eth0", 0).map((one) => one.type);
  assert.deepEqual(asked(), ["SRV", "TXT"]);
  cache.hear(responseOf({ answers: [srv, txt] }), ETH, 1);
  assert.deepEqual(asked(), ["A", "AAAA"]);
  assert.deepEqual(cache.knownPointers("eth0", 1), []);
  const [seen] = cache.hear(responseOf({ answers: [address] }), ETH, 2);
  assert.equal(seen?.kind, "seen");
  assert.equal(cache.knownPointers("eth0", 3)[0]?.ttlSeconds, 4_499);
  assert.deepEqual(cache.knownPointers("eth0", 2_300_000), []);
});

Deno.test("SightingCache stays at its limit when a flood of names comes", () => {
  const cache = new SightingCache(OWN_ID);
  for (let n = 0; n < 2_000; n++) {
    const { shared } = recordsOf([], { label: `empty${n}` });
    cache.hear(responseOf({ answers: shared }), ETH, n);
  }
  assert.equal(cache.size, MOST_SIGHTINGS);
  const real = cache.hear(announce(["192.0.2.9"]), ETH, 3_000);
  assert.equal(real.length, 1);
  for (let n = 0; n < 500; n++) {
    cache.hear(announce(["192.0.2.8"], { label: `whole${n}` }), ETH, 4_000);
  }
  assert.equal(cache.size, MOST_SIGHTINGS);
  assert.deepEqual(cache.hear(announce(["192.0.2.9"]), ETH, 5_000), []);
});
