import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import dnsPacket, { type Packet } from "dns-packet";
import { createSeededEntropy, ManualClock } from "@covey/core/platform";
import { QuietLog } from "../../../test/fakes/quiet_log.ts";
import { createDiscovery } from "../../src/discovery/discovery.ts";
import { queryOf, responseOf } from "../../src/discovery/dns/message.ts";
import { readPacket, writePacket } from "../../src/discovery/dns/packet.ts";
import {
  drawServiceNames,
  goodbyeRecords,
  SERVICE_TYPE,
  serviceRecords,
} from "../../src/discovery/dns/service_records.ts";
import { MemoryLan } from "../../src/discovery/net/memory_lan.ts";
import { nodeIdOf } from "../link/link_fixture.ts";
import { feedMany, FUZZ_SEED } from "./fuzz_run.ts";
import { mutate } from "./mutate.ts";

const STRANGER = { address: "192.0.2.250", port: 5353 };
/** Messages between two steps of the clock, and how long such a step is. */
const BATCH = 100;
const STEP_MS = 100;

/** What nodes say to each other, as bytes. */
function soundPackets(): Uint8Array[] {
  const records = [7, 8].map((n) =>
    serviceRecords(
      drawServiceNames(createSeededEntropy(n)),
      { nodeId: nodeIdOf(n), port: 11412 },
      [`192.0.2.${n}`, `fd00::${n}`],
    )
  );
  const question = { name: SERVICE_TYPE, type: "PTR", unicast: false } as const;
  return records.flatMap((one) => [
    queryOf({ questions: [question], answers: one.shared }),
    queryOf({
      questions: [{ ...question, type: "ANY", unicast: true }],
      authorities: one.unique,
    }),
    responseOf({ answers: one.shared, additionals: one.unique }),
    responseOf({ answers: goodbyeRecords(one) }),
  ]).map((message) => dnsPacket.encode(writePacket(message)));
}

Deno.test("discovery outlives spoiled packets, keeps little of them and says little to them", async () => {
  const clock = new ManualClock();
  const lan = new MemoryLan(clock);
  const log = new QuietLog();
  const alive = new Map<string, number>();
  await using discovery = await createDiscovery({
    clock,
    entropy: createSeededEntropy(FUZZ_SEED),
    log,
    interfaces: null,
    listInterfaces: () => [{
      name: "eth0",
      kind: "lan",
      index: null,
      addresses: [{ address: "192.0.2.1", family: "IPv4", prefixLength: 24 }],
    }],
    openSocket: lan.openSocket,
    service: { nodeId: nodeIdOf(1), port: 11412, advertise: [] },
    onSighting(sighting) {
      if (sighting.kind === "goodbye") alive.delete(sighting.instance);
      else alive.set(sighting.instance, sighting.port);
    },
  });
  await clock.advance(2000);
  const corpus = soundPackets();
  const entropy = createSeededEntropy(FUZZ_SEED);
  let said = 0;
  let read = 0;
  let steps = 0;
  await feedMany(async (n) => {
    let packet: Packet;
    try {
      packet = dnsPacket.decode(Buffer.from(mutate(corpus, entropy)));
    } catch {
      // The library turns it away, and the socket's adapter drops it.
      return;
    }
    const message = readPacket(packet);
    if (message === undefined) return;
    read++;
    // What was read can be written.
    dnsPacket.encode(writePacket(message));
    lan.inject(message, STRANGER);
    if (n % BATCH > 0) return;
    await clock.advance(STEP_MS);
    steps++;
    said += lan.sent.length;
    lan.sent.length = 0;
    assert.ok(alive.size <= 256, `${alive.size} sightings`);
  });
  assert.ok(read > 100, `${read} packets could be read at all`);
  // Answers are at most one a second each, however many ask: no amplifier.
  assert.ok(said <= 20 * steps + 100, `${said} packets in ${steps} steps`);
  assert.ok(log.lines.length < 200, `${log.lines.length} log lines`);
  assert.equal(discovery.state().length, 1);
});
