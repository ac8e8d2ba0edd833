import assert from "node:assert/strict";
import { type NodeId, parseNodeId } from "@covey/core/domain";
import { createSeededEntropy } from "@covey/core/platform";
import { planAnswer } from "../../src/discovery/dns/answer_plan.ts";
import {
  type DnsMessage,
  type DnsQuestion,
  type DnsRecord,
  queryOf,
  recordKey,
  responseOf,
} from "../../src/discovery/dns/message.ts";
import {
  compareRecordSets,
  isConflict,
  judgeProbe,
  probeOf,
} from "../../src/discovery/dns/probe.ts";
import {
  additionalRecords,
  drawServiceNames,
  SERVICE_TYPE,
  serviceRecords,
} from "../../src/discovery/dns/service_records.ts";

const ID = parseNodeId("3f2b8a52-7d4e-4c1b-9a0e-5b6c7d8e9f01") as NodeId;
const NAMES = drawServiceNames(createSeededEntropy(1));
const OWN = serviceRecords(NAMES, { nodeId: ID, port: 11412 }, ["192.0.2.7"]);
const POINTER = OWN.shared[0] as DnsRecord;

function ask(
  name: string,
  type: DnsQuestion["type"],
  more: { unicast?: boolean } & Partial<DnsMessage> = {},
): DnsMessage {
  const { unicast = false, ...parts } = more;
  return queryOf({ ...parts, questions: [{ name, type, unicast }] });
}

Deno.test("planAnswer says what is asked and no more when a query comes", () => {
  const known = (ttlSeconds: number) => [{ ...POINTER, ttlSeconds }];
  const table: [string, DnsMessage, number, string, string[]][] = [
    ["browse", ask(SERVICE_TYPE, "PTR"), 5353, "multicast shared", ["PTR"]],
    [
      "known answer",
      ask(SERVICE_TYPE, "PTR", { answers: known(2_250) }),
      5353,
      "silent",
      [],
    ],
    [
      "known for too short",
      ask(SERVICE_TYPE, "PTR", { answers: known(2_249) }),
      5353,
      "multicast shared",
      ["PTR"],
    ],
    [
      "another's pointer is known",
      ask(SERVICE_TYPE, "PTR", {
        answers: [{ ...POINTER, target: `x.${SERVICE_TYPE}` } as DnsRecord],
      }),
      5353,
      "multicast shared",
      ["PTR"],
    ],
    ["resolve", ask(NAMES.instanceName, "SRV"), 5353, "multicast", ["SRV"]],
    [
      "any",
      ask(NAMES.instanceName, "ANY"),
      5353,
      "multicast",
      ["SRV", "TXT"],
    ],
    ["host", ask(NAMES.hostName, "A"), 5353, "multicast", ["A"]],
    ["no such family", ask(NAMES.hostName, "AAAA"), 5353, "silent", []],
    ["another's name", ask("x.local", "ANY"), 5353, "silent", []],
    [
      "unicast asked",
      ask(SERVICE_TYPE, "PTR", { unicast: true }),
      5353,
      "unicast",
      ["PTR"],
    ],
    [
      "plain resolver",
      ask(SERVICE_TYPE, "PTR", { id: 7 }),
      40_000,
      "legacy",
      ["PTR"],
    ],
    [
      "probe for our name",
      ask(NAMES.instanceName, "ANY", {
        unicast: true,
        authorities: OWN.unique.slice(0, 1),
      }),
      5353,
      "multicast urgent",
      ["SRV", "TXT"],
    ],
    [
      "all types of services",
      ask("_services._dns-sd._udp.local", "PTR"),
      5353,
      "multicast shared",
      ["PTR"],
    ],
  ];
  for (const [name, query, port, expected, types] of table) {
    const plan = planAnswer(query, port, OWN);
    const marks = plan.kind === "multicast"
      ? [plan.shared ? " shared" : "", plan.urgent ? " urgent" : ""].join("")
      : "";
    assert.equal(plan.kind + marks, expected, name);
    const records = plan.kind === "silent" ? [] : plan.records;
    assert.deepEqual(records.map((record) => record.type), types, name);
  }
});

Deno.test("additionalRecords completes a pointer when it is answered", () => {
  const typesBeside = (answers: readonly DnsRecord[]) =>
    additionalRecords(answers, OWN).map((record) => record.type);
  assert.deepEqual(typesBeside([POINTER]), ["SRV", "TXT", "A"]);
  assert.deepEqual(typesBeside(OWN.unique.slice(0, 1)), ["A"]);
  assert.deepEqual(typesBeside(OWN.unique.slice(1, 2)), []);
});

Deno.test("compareRecordSets orders as RFC 6762 8.2.1 does when data differ", () => {
  const a = (address: string): DnsRecord => ({
    type: "A",
    name: "h.local",
    ttlSeconds: 120,
    flush: true,
    address,
  });
  // The RFC's own example: 169.254.99.200 is before 169.254.200.50.
  const low = a("169.254.99.200");
  const high = a("169.254.200.50");
  const table: [DnsRecord[], DnsRecord[], number][] = [
    [[low], [high], -1],
    [[high], [low], 1],
    [[low], [low], 0],
    [[low], [low, high], -1],
    [[high, low], [low, high], 0],
  ];
  for (const [left, right, sign] of table) {
    assert.equal(Math.sign(compareRecordSets(left, right)), sign);
  }
});

Deno.test("judgeProbe lets exactly one of two go first when both probe one name (MDN-04)", () => {
  const other = serviceRecords(
    { ...NAMES, hostName: "other.local" },
    { nodeId: ID, port: 11412 },
    ["192.0.2.8"],
  );
  const none = () => false;
  const verdicts = [
    judgeProbe(probeOf(other.unique), OWN.unique, none),
    judgeProbe(probeOf(OWN.unique), other.unique, none),
  ];
  assert.deepEqual(verdicts.sort(), ["kept", "lost"]);
  const sent = new Set(OWN.unique.map(recordKey));
  const isOwn = (key: string) => sent.has(key);
  assert.equal(judgeProbe(probeOf(OWN.unique), OWN.unique, isOwn), "kept");
});

Deno.test("isConflict ignores own words and goodbyes when they are heard (MDN-03)", () => {
  const [srv] = OWN.unique;
  assert.ok(srv?.type === "SRV");
  const foreign = { ...srv, target: "other.local" };
  const own = new Set(OWN.unique.map(recordKey));
  const isOwn = (key: string) => own.has(key);
  const judge = (record: DnsRecord) =>
    isConflict(responseOf({ answers: [record] }), OWN.unique, isOwn);
  assert.equal(judge(srv), false);
  assert.equal(judge(foreign), true);
  assert.equal(judge({ ...foreign, ttlSeconds: 0 }), false);
  assert.equal(judge({ ...foreign, name: `x.${SERVICE_TYPE}` }), false);
});
