import assert from "node:assert/strict";
import type { InterfaceTest, InterfaceUse } from "../../src/discovery/mod.ts";
import type { DialOutcome } from "../../src/doctor/call_back.ts";
import { adviseDial } from "../../src/doctor/dial_advice.ts";
import type { ClusterFacts, PeerFacts } from "../../src/doctor/facts.ts";
import type { Finding, SystemKind } from "../../src/doctor/finding.ts";
import {
  judgeDescriptors,
  judgeExposure,
  judgePort,
} from "../../src/doctor/judge_node.ts";
import { judgeTunnel } from "../../src/doctor/judge_tunnels.ts";
import {
  formatReport,
  judgeCluster,
  reportOf,
} from "../../src/doctor/report.ts";

const LAN: InterfaceUse = {
  use: "used",
  one: {
    name: "eth0",
    kind: "lan",
    index: 2,
    addresses: [{ address: "192.0.2.1", family: "IPv4", prefixLength: 24 }],
  },
};
const DOCKER: InterfaceUse = {
  use: "kind",
  one: { ...LAN.one, name: "docker0", kind: "container_bridge" },
};
const HEARS: InterfaceTest = {
  interface: "eth0",
  family: "IPv4",
  isAnnounced: true,
  degradedReason: null,
  heardOwn: true,
  heardOthersAgoMs: 1000,
};
const WELL: PeerFacts = {
  name: "pi",
  inUse: "192.0.2.2:11412",
  dials: [dialOf("met")],
  status: { roundTripMs: 1.25 },
  calledBack: { dial: dialOf("met").dial, clockAheadMs: 3 },
  seesOwnAddress: true,
  heard: true,
  tunnelled: false,
};

function dialOf(outcome: DialOutcome, code: string | null = null) {
  return {
    dial: { address: "192.0.2.2:11412", outcome, code },
    port: 11412,
    onLink: true,
  };
}

function judge(facts: Partial<ClusterFacts>): readonly Finding[] {
  return judgeCluster({
    system: "linux",
    linkPort: 11412,
    linkHost: "0.0.0.0",
    interfaces: [LAN, DOCKER],
    tests: [HEARS],
    peers: [WELL],
    outsiders: [],
    tunnels: [],
    descriptors: 20_000,
    inContainer: false,
    leftOut: 0,
    ...facts,
  });
}

function worst(findings: readonly Finding[]): Finding[] {
  return findings.filter(({ verdict }) =>
    verdict === "problem" || verdict === "warning"
  );
}

Deno.test("judgeCluster finds nothing wrong where all is well, and says why a bridge is left out", () => {
  const findings = judge({});
  assert.deepEqual(worst(findings), []);
  const docker = findings.find(({ subject }) => subject === "docker0");
  assert.match(docker?.text ?? "", /left out: a bridge of containers/);
  const report = reportOf(true, findings);
  assert.equal(report.ok, true);
  assert.match(formatReport(report), /Nothing is wrong\.$/);
});

Deno.test("judgeCluster names the failing step and the remedy", () => {
  const timeout = {
    ...WELL,
    dials: [dialOf("timeout")],
    status: {
      failed: "no status",
    },
    calledBack: null,
  };
  const table: [string, Partial<ClusterFacts>, string, RegExp, RegExp][] = [
    [
      "a firewall there",
      { peers: [{ ...timeout, heard: false }] },
      "port",
      /no answer from 192\.0\.2\.2:11412/,
      /firewall of pi.*ufw allow 11412\/tcp$|ufw allow 11412\/tcp/,
    ],
    [
      "AP isolation: multicast arrives, TCP does not (MDN-09)",
      { peers: [timeout] },
      "port",
      /no answer/,
      /client isolation/,
    ],
    [
      "macOS local network permission",
      {
        system: "darwin",
        peers: [{ ...timeout, dials: [dialOf("unreachable", "EHOSTUNREACH")] }],
      },
      "port",
      /EHOSTUNREACH/,
      /Privacy & Security > Local Network/,
    ],
    [
      "nobody listens",
      { peers: [{ ...timeout, dials: [dialOf("refused")] }] },
      "port",
      /refuses connections/,
      /COVEY_LINK_HOST=127\.0\.0\.1/,
    ],
    [
      "another key",
      { peers: [{ ...timeout, dials: [dialOf("identity")] }] },
      "key",
      /another key/,
      /covey remove/,
    ],
    [
      "own firewall",
      {
        peers: [{
          ...WELL,
          calledBack: { dial: dialOf("timeout").dial, clockAheadMs: 0 },
        }],
      },
      "dial back",
      /can not call back/,
      /this machine's firewall/,
    ],
    [
      "NAT or Docker",
      {
        peers: [{
          ...WELL,
          seesOwnAddress: false,
          calledBack: { dial: dialOf("timeout").dial, clockAheadMs: 0 },
        }],
      },
      "dial back",
      /can not call back/,
      /COVEY_ADVERTISE/,
    ],
    [
      "no multicast while TCP works (MDN-09)",
      {
        tests: [{ ...HEARS, heardOthersAgoMs: null }],
        peers: [{ ...WELL, heard: false }],
      },
      "receive",
      /no multicast comes in/,
      /COVEY_PEERS/,
    ],
    [
      "multicast that can not go out",
      { tests: [{ ...HEARS, heardOwn: false }] },
      "multicast IPv4",
      /does not come back/,
      /UDP port 5353/,
    ],
    [
      "port 5353 held (MDN-08)",
      {
        tests: [{
          ...HEARS,
          degradedReason: "UDP port 5353 is held by a program",
        }],
      },
      "multicast IPv4",
      /5353 is held/,
      /stop that program/,
    ],
    [
      "descriptors",
      { descriptors: 1024 },
      "descriptors",
      /only 1024/,
      /ulimit -n 4096/,
    ],
    [
      "nothing to use",
      { interfaces: [DOCKER], tests: [] },
      "interfaces",
      /no interface can be used/,
      /COVEY_PEERS/,
    ],
    [
      "discovered, unreachable (MDN-09)",
      {
        outsiders: [{
          target: {
            name: "sighting abc",
            kind: "sighting",
            addresses: [],
            problem: "unreachable",
          },
          dials: [dialOf("timeout")],
        }],
      },
      "port",
      /no answer/,
      /isolation/,
    ],
  ];
  for (const [name, facts, step, text, fix] of table) {
    const bad = worst(judge(facts));
    assert.equal(bad.length, 1, `${name}: ${JSON.stringify(bad)}`);
    assert.equal(bad[0]?.step, step, name);
    assert.match(bad[0]?.text ?? "", text, name);
    assert.match(bad[0]?.fix ?? "", fix, name);
  }
});

Deno.test("judgeCluster takes one address that works for enough, and clocks apart for information (TIM-01)", () => {
  for (const clockAheadMs of [-180_000, 180_000, 3e11]) {
    const findings = judge({
      peers: [{
        ...WELL,
        dials: [dialOf("timeout"), dialOf("met")],
        calledBack: { dial: dialOf("met").dial, clockAheadMs },
      }],
    });
    assert.deepEqual(worst(findings), []);
    const clock = findings.find(({ step }) => step === "clock");
    assert.equal(clock?.verdict, "info");
    assert.match(clock.text, clockAheadMs > 0 ? /ahead of/ : /behind/);
  }
});

Deno.test("adviseDial has a step, a text and a remedy for every outcome on every system", () => {
  const outcomes = [
    "refused",
    "unreachable",
    "identity",
    "timeout",
    "broken",
    "protocol",
    "copy",
  ] as const;
  const systems: SystemKind[] = ["linux", "darwin", "other"];
  for (const outcome of outcomes) {
    for (const system of systems) {
      for (const code of [null, "EHOSTUNREACH", "EPERM", "ENOTFOUND"]) {
        for (const flag of [true, false]) {
          const advice = adviseDial(
            { address: "", outcome, code },
            { system, target: "x", heard: flag, onLink: !flag, port: 1 },
          );
          assert.ok(advice.text !== "" && advice.fix !== "", outcome);
        }
      }
    }
  }
});

Deno.test("judgeTunnel gives the remedy for what ssh says", () => {
  const table: [string, RegExp][] = [
    ["ada@pi: Permission denied (publickey).", /ssh-copy-id -p 22 ada@pi/],
    ["Host key verification failed.", /`ssh -p 22 ada@pi`/],
    ["ssh: Could not resolve hostname pi", /COVEY_PEERS/],
    ["there is no ssh on this machine", /install/],
    ["anything else", /BatchMode=yes -p 22 ada@pi true/],
  ];
  for (const [reason, fix] of table) {
    const finding = judgeTunnel({
      name: "ssh://ada@pi:22",
      tunnel: { state: "down", reason },
    });
    assert.equal(finding.verdict, "problem");
    assert.match(finding.fix ?? "", fix, reason);
  }
});

Deno.test("what concerns the node alone: exposure, ports, descriptors", () => {
  const local = {
    hosts: ["127.0.0.1"],
    openTo: ["0.0.0.0/0"],
    hasTls: false,
  };
  assert.deepEqual(worst(judgeExposure(local)), []);
  const open = judgeExposure({ ...local, hosts: ["0.0.0.0"] });
  assert.deepEqual(open.map(({ verdict }) => verdict), ["warning", "warning"]);
  const safe = { ...local, hosts: ["0.0.0.0"], openTo: [], hasTls: true };
  assert.deepEqual(worst(judgeExposure(safe)), []);
  assert.equal(judgeDescriptors(null).verdict, "info");
  assert.equal(judgeDescriptors(Infinity).verdict, "ok");
  const port = {
    use: "member link",
    variable: "COVEY_LINK_PORT",
    host: "::",
    port: 11412,
  } as const;
  assert.equal(judgePort({ ...port, code: null }).verdict, "ok");
  for (const code of ["EADDRINUSE", "EADDRNOTAVAIL", "EACCES", "EIO"]) {
    const finding = judgePort({ ...port, code });
    assert.equal(finding.verdict, "problem");
    assert.match(finding.fix ?? "", /COVEY_LINK_(?:PORT|HOST)/);
  }
});
