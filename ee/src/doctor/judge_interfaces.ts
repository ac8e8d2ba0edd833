import type {
  InterfaceKind,
  InterfaceTest,
  InterfaceUse,
} from "../discovery/mod.ts";
import type { ClusterFacts } from "./facts.ts";
import { type Finding, info, ok, problem, warning } from "./finding.ts";

const KINDS: Readonly<Record<InterfaceKind, string>> = {
  lan: "another interface is used",
  loopback: "loopback, which others do not reach",
  container_bridge: "a bridge of containers or virtual machines",
  bridge_port: "part of a bridge",
  tunnel: "a tunnel",
};

/** What interface judgements rest on. */
type Facts = Pick<
  ClusterFacts,
  "inContainer" | "interfaces" | "peers" | "system" | "tests"
>;

/**
 * Judge each interface: whether it is used, and whether multicast goes out and
 * comes in on it.
 *
 * @param facts What was found.
 */
export function judgeInterfaces(facts: Facts): readonly Finding[] {
  const uses = facts.interfaces.flatMap((one) => judgeUse(one));
  const tests = facts.tests.flatMap((one) => judgeTest(one, facts));
  return [...uses, ...tests, ...judgeAll(facts)];
}

/** Say whether an interface is used, and why not. */
export function judgeUse({ one, use }: InterfaceUse): readonly Finding[] {
  const addresses = one.addresses.map(({ address }) => address).join(", ");
  const step = "use";
  switch (use) {
    case "used":
      return [ok(one.name, step, `used: ${addresses}`)];
    case "no_address":
      return [info(one.name, step, "left out: it has no address")];
    case "not_named":
      return [
        info(
          one.name,
          step,
          "left out: COVEY_MDNS_INTERFACES names others",
        ),
      ];
    case "kind":
      return [
        info(
          one.name,
          step,
          `left out: ${KINDS[one.kind]}`,
          one.kind === "loopback"
            ? null
            : `name it in COVEY_MDNS_INTERFACES if members are there`,
        ),
      ];
    default:
      return use satisfies never;
  }
}

function judgeTest(
  test: InterfaceTest,
  { system }: Facts,
): readonly Finding[] {
  const { degradedReason, family, heardOwn, heardOthersAgoMs } = test;
  const subject = test.interface;
  const step = `multicast ${family}`;
  // Many links have no working IPv6, and need none.
  const bad = family === "IPv6" ? warning : problem;
  if (degradedReason !== null) {
    return [
      bad(subject, step, degradedReason, adviseSending(system, degradedReason)),
    ];
  }
  if (!heardOwn) {
    return [
      bad(
        subject,
        step,
        "what is sent to the group does not come back to this machine",
        adviseSending(system, ""),
      ),
    ];
  }
  const others = heardOthersAgoMs === null
    ? "no other machine heard yet"
    : `another machine heard ${Math.round(heardOthersAgoMs / 1000)} s ago`;
  return [ok(subject, step, `sent and received; ${others}`)];
}

function adviseSending(system: ClusterFacts["system"], reason: string): string {
  if (/port 5353/.test(reason)) {
    return "stop that program, or list members in COVEY_PEERS";
  }
  if (system === "darwin") {
    return "allow this program in System Settings > Privacy & Security > Local Network, and UDP port 5353 in the firewall; or list members in COVEY_PEERS";
  }
  return "allow UDP port 5353 and the groups 224.0.0.251 and ff02::fb in this machine's firewall (`ufw allow 5353/udp`, `firewall-cmd --add-service=mdns --permanent`); or list members in COVEY_PEERS";
}

function judgeAll(
  { inContainer, interfaces, peers, tests }: Facts,
): readonly Finding[] {
  const used = interfaces.filter(({ use }) => use === "used");
  const subject = "multicast";
  if (used.length === 0) {
    return [
      problem(
        subject,
        "interfaces",
        "no interface can be used to look for members",
        "connect this machine to a network, or list members in COVEY_PEERS",
      ),
    ];
  }
  const deaf = tests.length > 0 &&
    tests.every(({ heardOthersAgoMs }) => heardOthersAgoMs === null) &&
    used.some(({ one }) => one.kind !== "loopback");
  const container = inContainer && deaf
    ? [
      info(
        subject,
        "container",
        "this process is in a container, and the bridge of Docker carries no multicast",
        "use the host's network (`--network host`), or list members in COVEY_PEERS and this host's address in COVEY_ADVERTISE",
      ),
    ]
    : [];
  const near = peers.filter(({ dials }) =>
    dials.some(({ dial, onLink }) => onLink && dial.outcome === "met")
  );
  const silent = near.filter(({ heard, tunnelled }) => !heard && !tunnelled);
  if (!deaf || silent.length === 0) return container;
  const names = silent.map(({ name }) => name).join(", ");
  return [
    ...container,
    warning(
      subject,
      "receive",
      `${names}: reached over TCP on this network, but no multicast comes in, so new members and new addresses are not noticed`,
      "turn off AP or client isolation and multicast filtering (IGMP snooping without a querier) on the access point or switch, allow UDP port 5353 in the firewalls, or list members in COVEY_PEERS",
    ),
  ];
}
