import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import dnsPacket, { type Packet } from "dns-packet";
import fc from "fast-check";
import { parseNodeId } from "@covey/core/domain";
import { createSeededEntropy } from "@covey/core/platform";
import { queryOf, responseOf } from "../../src/discovery/dns/message.ts";
import {
  MOST_RECORDS,
  readPacket,
  wireBytes,
  writePacket,
} from "../../src/discovery/dns/packet.ts";
import {
  drawServiceNames,
  goodbyeRecords,
  SERVICE_TYPE,
  serviceRecords,
} from "../../src/discovery/dns/service_records.ts";
import { queriesOf } from "../../src/discovery/dns/service_query.ts";
import type { NetworkInterface } from "../../src/discovery/net/interface.ts";
import { SightingCache } from "../../src/discovery/sighting_cache.ts";

const ID = parseNodeId("3f2b8a52-7d4e-4c1b-9a0e-5b6c7d8e9f01");
if (ID === undefined) throw new TypeError("The test's own id is no UUID");
const NAMES = drawServiceNames(createSeededEntropy(1));
const OWN = serviceRecords(NAMES, { nodeId: ID, port: 11412 }, [
  "192.0.2.7",
  "fd00::7",
]);
const LAN: NetworkInterface = {
  name: "eth0",
  kind: "lan",
  index: 2,
  addresses: [{ address: "192.0.2.1", family: "IPv4", prefixLength: 24 }],
};

Deno.test("serviceRecords tells link port, version and id, and neither host nor cluster", () => {
  const told = JSON.stringify(OWN);
  assert.match(NAMES.instance, /^[a-z2-7]{10}$/);
  assert.match(NAMES.hostName, /^[a-z2-7]{12}\.local$/);
  assert.equal(told.includes(Deno.hostname().toLowerCase() + "."), false);
  assert.deepEqual(
    [...OWN.shared, ...OWN.unique].map((record) => [
      record.type,
      record.name,
      record.ttlSeconds,
      record.flush,
    ]),
    [
      ["PTR", SERVICE_TYPE, 4500, false],
      ["PTR", "_services._dns-sd._udp.local", 4500, false],
      ["SRV", NAMES.instanceName, 120, true],
      ["TXT", NAMES.instanceName, 4500, true],
      ["A", NAMES.hostName, 120, true],
      ["AAAA", NAMES.hostName, 120, true],
    ],
  );
  assert.equal(
    goodbyeRecords(OWN).every((record) => record.ttlSeconds === 0),
    true,
  );
});

Deno.test("readPacket gives back what writePacket wrote when the bytes go through dns-packet", () => {
  const message = responseOf({
    answers: OWN.shared,
    additionals: OWN.unique,
  });
  const bytes = dnsPacket.encode(writePacket(message));
  assert.deepEqual(readPacket(dnsPacket.decode(bytes)), message);
  const sizes = [...OWN.shared, ...OWN.unique].map(wireBytes);
  assert.equal(12 + sizes.reduce((a, b) => a + b, 0), bytes.length);
});

Deno.test("readPacket sees the QU bit when the question is for unicast", () => {
  const bytes = dnsPacket.encode({
    type: "query",
    questions: [{ name: SERVICE_TYPE, type: "PTR" }],
  });
  bytes[bytes.length - 2] = 0x80;
  assert.deepEqual(readPacket(dnsPacket.decode(bytes)), {
    ...queryOf({}),
    questions: [{ name: SERVICE_TYPE, type: "PTR", unicast: true }],
  });
});

Deno.test("readPacket drops what is hostile when a packet holds it", () => {
  const good = { type: "A" as const, name: "h.local", data: "192.0.2.9" };
  const table: [string, Packet, number][] = [
    ["operation code", { type: "response", flags: 0x0800, answers: [good] }, 0],
    ["response code", { type: "response", flags: 3, answers: [good] }, 0],
    ["empty label", {
      type: "response",
      answers: [{ ...good, name: "a..local" }],
    }, 0],
    ["control character", {
      type: "response",
      answers: [{ ...good, name: "a\u0007.local" }],
    }, 0],
    ["bytes that are no UTF-8", {
      type: "response",
      answers: [{ ...good, name: "\uFFFD.local" }],
    }, 0],
    ["label too long", {
      type: "response",
      answers: [{ ...good, name: `${"é".repeat(32)}.local` }],
    }, 0],
    ["another class", {
      type: "response",
      answers: [{ ...good, class: "CH" }],
    }, 0],
    ["address of the wrong family", {
      type: "response",
      answers: [{ ...good, data: "::1" }],
    }, 0],
    ["no address", {
      type: "response",
      answers: [{ ...good, data: "1.2.3.4.5" }],
    }, 0],
    ["too many TXT strings", {
      type: "response",
      answers: [{ type: "TXT", name: "x.local", data: Array(33).fill("a") }],
    }, 0],
    ["too many records", {
      type: "response",
      answers: Array(MOST_RECORDS + 50).fill(good),
    }, MOST_RECORDS],
    ["letter case", {
      type: "response",
      answers: [{ ...good, name: "H.LOCAL" }],
    }, 1],
  ];
  for (const [name, packet, count] of table) {
    assert.equal(readPacket(packet)?.answers.length ?? 0, count, name);
  }
});

Deno.test("readPacket and the cache stay bounded when any bytes arrive", () => {
  const valid = dnsPacket.encode(
    writePacket(responseOf({ answers: OWN.shared, additionals: OWN.unique })),
  );
  const mutated = fc.array(
    fc.tuple(fc.nat(valid.length - 1), fc.nat(255)),
    { maxLength: 12 },
  ).map((changes) => {
    const bytes = Buffer.from(valid);
    for (const [at, byte] of changes) bytes[at] = byte;
    return bytes;
  });
  const random = fc.uint8Array({ maxLength: 600 }).map((b) => Buffer.from(b));
  const cache = new SightingCache(ID);
  let nowMs = 0;
  fc.assert(
    fc.property(fc.oneof(random, mutated), (bytes) => {
      let packet: Packet;
      try {
        packet = dnsPacket.decode(bytes);
      } catch {
        return; // The library turns it away, as the adapter's gate then counts.
      }
      const message = readPacket(packet);
      if (message === undefined) return;
      // What was read can be written.
      dnsPacket.encode(writePacket(message));
      for (const sighting of cache.hear(message, LAN, nowMs++)) {
        assert.notEqual(sighting.claimedId, ID);
        if (sighting.kind === "goodbye") continue;
        assert.match(sighting.addresses.join(), /^192\.0\.2\.\d+/);
      }
      assert.ok(cache.size <= 256);
    }),
    { numRuns: 3_000 },
  );
});

Deno.test("queriesOf spreads known answers over messages that fit when there are many", () => {
  const known = Array.from({ length: 60 }, (_, n) => ({
    type: "PTR" as const,
    name: SERVICE_TYPE,
    ttlSeconds: 4_000,
    flush: false,
    target: `peer${n}.${SERVICE_TYPE}`,
  }));
  const question = { name: SERVICE_TYPE, type: "PTR", unicast: false } as const;
  const messages = queriesOf([question], known);
  assert.ok(messages.length > 1);
  assert.equal(messages.flatMap((one) => one.answers).length, known.length);
  messages.forEach((message, index) => {
    const size = dnsPacket.encode(writePacket(message)).length;
    assert.ok(size <= 1_400, `${size} bytes`);
    assert.equal(message.truncated, index < messages.length - 1);
    assert.equal(message.questions.length, index === 0 ? 1 : 0);
  });
});
