import { escapeUnprintable } from "@covey/core/domain";
import type { DialOutcome, DialResult } from "./call_back.ts";
import { adviseDial, allowPort } from "./dial_advice.ts";
import type {
  ClusterFacts,
  DialFacts,
  OutsiderFacts,
  PeerFacts,
} from "./facts.ts";
import { type Finding, info, ok, problem, warning } from "./finding.ts";

/** What judgements of peers rest on. */
type Facts = Pick<ClusterFacts, "linkPort" | "system">;

/** Clocks that differ by less are not worth a word. */
const SKEW_WORTH_SAYING_MS = 2000;

type BadDial = DialResult & { readonly outcome: Exclude<DialOutcome, "met"> };

/**
 * Judge what was met of one member, step by step: port, TLS, key, status, dial
 * back, clock.
 *
 * @param peer What was met.
 * @param facts This node.
 */
export function judgePeer(peer: PeerFacts, facts: Facts): readonly Finding[] {
  const { name, status } = peer;
  const dials = judgeDials(name, peer.dials, peer.heard, facts);
  if ("failed" in status) {
    const isExplained = dials.some(({ verdict }) => verdict === "problem");
    return [
      ...dials,
      ...(isExplained ? [] : [
        problem(
          name,
          "status",
          `it gives no status: ${escapeUnprintable(status.failed)}`,
          "see the log of that node, and whether `covey members` there lists this one",
        ),
      ]),
    ];
  }
  return [
    ...dials,
    ok(name, "status", `answers in ${status.roundTripMs.toFixed(1)} ms`),
    ...judgeCallBack(peer, facts),
  ];
}

/**
 * Judge one who was heard or named and is no member.
 *
 * @param outsider What was met.
 * @param facts This node.
 */
export function judgeOutsider(
  { dials, target }: OutsiderFacts,
  facts: Facts,
): readonly Finding[] {
  const heard = target.kind === "sighting";
  const name = escapeUnprintable(target.name);
  const reached = dials.some(({ dial }) => dial.outcome === "met");
  if (reached) {
    return [
      target.problem === "no_match"
        ? info(
          name,
          "admission",
          "it has another secret, so it is in another cluster",
          heard ? null : "set the same COVEY_CLUSTER_SECRET on both",
        )
        : target.problem === "refused"
        ? problem(
          name,
          "admission",
          "it knows the secret, but one of the two refuses the other",
          "`covey members` here and there give the reason: mostly the seats of the licence, or an identity that was removed",
        )
        : warning(
          name,
          "admission",
          `reached now, but the last try to be admitted failed (${target.problem})`,
          "it is tried again by itself; if it stays so, see the log of that node",
        ),
    ];
  }
  const findings = judgeDials(name, dials, heard, facts);
  return heard
    ? [info(name, "multicast", "discovered, but unreachable"), ...findings]
    : findings;
}

/** The steps port, TLS and key over all addresses: one that works is enough. */
function judgeDials(
  name: string,
  dials: readonly DialFacts[],
  heard: boolean,
  { system }: Facts,
): readonly Finding[] {
  const met = dials.filter(({ dial }) => dial.outcome === "met");
  const bad = dials.flatMap(({ dial, onLink, port }) => {
    const { outcome } = dial;
    if (outcome === "met") return [];
    const failed: BadDial = { ...dial, outcome };
    const setting = { system, target: name, heard, onLink, port };
    return [adviseDial(failed, setting)];
  });
  if (met.length > 0) {
    return [
      ok(
        name,
        "port, TLS, key",
        `met at ${met.map(({ dial }) => dial.address).join(", ")}`,
      ),
      ...bad.map(({ step, text }) =>
        info(name, step, `${text}; another address works`)
      ),
    ];
  }
  if (bad.length === 0) {
    return [
      problem(
        name,
        "port",
        "no address of it is known",
        "start it, or list its address in COVEY_PEERS",
      ),
    ];
  }
  return bad.map(({ fix, step, text }) => problem(name, step, text, fix));
}

function judgeCallBack(
  { calledBack, name, seesOwnAddress, tunnelled }: PeerFacts,
  { linkPort, system }: Facts,
): readonly Finding[] {
  const step = "dial back";
  if (calledBack === null) {
    return [info(name, step, "it runs a version that can not be asked")];
  }
  if ("failed" in calledBack) {
    return [
      warning(
        name,
        step,
        `it did not say what it met: ${escapeUnprintable(calledBack.failed)}`,
        "try again; if it stays so, see the log of that node",
      ),
    ];
  }
  const { clockAheadMs, dial } = calledBack;
  const { outcome } = dial;
  const clock = judgeClock(name, clockAheadMs);
  const address = escapeUnprintable(dial.address);
  if (outcome === "met") {
    return [ok(name, step, `it reaches this node at ${address}`), clock];
  }
  if (tunnelled) {
    return [
      warning(
        name,
        step,
        "the tunnel over ssh has no way back, so it is a worker only",
        "allow AllowTcpForwarding in its sshd, and see that the tunnel is up",
      ),
      clock,
    ];
  }
  const found: BadDial = { ...dial, address, outcome };
  const advice = adviseDial(found, {
    system,
    target: "this node",
    heard: false,
    onLink: false,
    port: linkPort,
  });
  const translated = seesOwnAddress === false
    ? `${address} is no address of this machine: behind NAT or in a container, publish port ${linkPort} and set COVEY_ADVERTISE to an address that members reach`
    : null;
  return [
    problem(
      name,
      step,
      `it can not call back: ${advice.text}`,
      translated ??
        (outcome === "timeout"
          ? `allow TCP port ${linkPort} in this machine's firewall (${
            allowPort(linkPort)
          })`
          : advice.fix),
    ),
    clock,
  ];
}

/** Nothing rests on it: members never compare their clocks. */
function judgeClock(name: string, clockAheadMs: number): Finding {
  const seconds = (Math.abs(clockAheadMs) / 1000).toFixed(1);
  return Math.abs(clockAheadMs) < SKEW_WORTH_SAYING_MS
    ? ok(name, "clock", "agrees with this machine's")
    : info(
      name,
      "clock",
      `${seconds} s ${
        clockAheadMs > 0 ? "ahead of" : "behind"
      } this machine's, on which nothing rests`,
    );
}
