import {
  type Host,
  type MemberView,
  type NodeId,
  withConditions,
  type WorkReport,
} from "@covey/core/domain";
import type { Clock } from "@covey/core/platform";
import type { KeyHash } from "./identity/key_hash.ts";
import type { Membership } from "./membership/membership.ts";
import type { Notes } from "./membership/notes.ts";
import type { Peers } from "./membership/peers.ts";
import type { Peer } from "./membership/peer.ts";
import type { MemberRow } from "./membership/member_row.ts";
import type { Whereabouts } from "./whereabouts.ts";

/** What showing the members needs. */
export interface ViewSources {
  readonly clock: Clock;
  readonly host: Host;
  readonly self: NodeId;
  readonly membership: Membership;
  readonly peers: Peers;
  readonly places: Whereabouts;
  readonly notes: Notes;
}

const UNSEATED =
  "It has no seat, because more nodes came together than the seats suffice for: it takes and gives no work; remove one with `covey remove NAME`, or set COVEY_LICENCE to a licence for more nodes on a member";
const IDENTITY_CHANGED =
  "Identity changed: its id is pinned to another key, so it is refused; remove the one that is not to stay with `covey remove`";
const REMOVED =
  "An operator took this node out of the cluster, and it works alone; `covey join` with an invitation brings it back";

/** All rows as the API shows them, this node first. */
export function viewMembers(sources: ViewSources): readonly MemberView[] {
  const { host, membership, notes, peers, places, self } = sources;
  const report = host.router.report();
  const changed = membership.rows().filter(({ keyHash }) =>
    membership.standing(keyHash) === "identity_changed"
  );
  return [
    {
      id: self,
      name: host.node.name,
      version: host.node.version,
      self: true,
      ...workOf(report),
      health: withConditions("healthy", report.conditions),
      draining: report.draining ?? false,
      addresses: places.own(),
      ...standingOf(sources, membership.own, [
        notes.own,
        ...host.advice ?? [],
      ]),
      ...host.node.role === "controller" ? { role: "controller" } : {},
    },
    ...peers.list().map((peer): MemberView => viewPeer(sources, peer)),
    ...changed.map((row): MemberView => ({
      id: row.id,
      name: row.name,
      self: false,
      health: "offline",
      draining: false,
      addresses: [],
      version: null,
      ...standingOf(sources, row, []),
    })),
  ];
}

function viewPeer(sources: ViewSources, peer: Peer): MemberView {
  const { clock, membership, notes, places } = sources;
  const { channel, monitor, row } = peer;
  const status = monitor.held?.status;
  const { lastHeardMs } = channel;
  return {
    id: row.id,
    name: monitor.name,
    self: false,
    ...status === undefined ? {} : workOf(status.work),
    ...lastHeardMs === null
      ? {}
      : { heardMsAgo: Math.max(0, clock.monotonic() - lastHeardMs) },
    health: withConditions(monitor.health.state, status?.work.conditions),
    draining: status?.draining ?? false,
    addresses: places.ofPeer(peer),
    version: status?.version ?? null,
    ...standingOf(
      sources,
      membership.rowOf(row.keyHash) ?? row,
      [places.note(row.keyHash), notes.of(row.keyHash), monitor.denial],
    ),
  };
}

function standingOf(
  { membership }: ViewSources,
  row: MemberRow,
  notes: readonly (string | null)[],
): Pick<MemberView, "note" | "role" | "seat" | "state"> {
  const standing = membership.standing(row.keyHash);
  const state = standing ?? "member";
  const all = [
    state === "unseated" ? UNSEATED : null,
    state === "identity_changed" ? IDENTITY_CHANGED : null,
    state === "removed" ? REMOVED : null,
    ...notes,
  ].filter((note) => note !== null);
  return {
    state,
    seat: row.seat,
    ...row.role === "controller" ? { role: "controller" as const } : {},
    ...all.length === 0 ? {} : { note: all.join("; ") },
  };
}

/** What a node's report says of it beyond its engines. */
function workOf(
  { conditions, inFlight, machine, tier }: WorkReport,
): Pick<MemberView, "conditions" | "inFlight" | "machine" | "tier"> {
  return {
    ...(conditions === undefined ? {} : { conditions }),
    ...(inFlight === undefined ? {} : { inFlight }),
    ...(machine === undefined ? {} : { machine }),
    ...(tier === undefined ? {} : { tier }),
  };
}

/** The engines of members that may be given work, where this node may give any. */
export function enginesInReach(
  { membership, peers }: Pick<ViewSources, "membership" | "peers">,
  self: KeyHash,
): ReturnType<Peer["engines"]> {
  return membership.mayGive(self)
    ? peers.list().filter(({ row }) => membership.mayWork(row.keyHash))
      .flatMap((peer) => peer.engines())
    : [];
}
