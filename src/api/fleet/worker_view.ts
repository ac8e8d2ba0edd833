import type {
  BreakerState,
  EngineStanding,
  MemberView,
  NodeId,
  NodeStanding,
  Tier,
} from "../../domain/mod.ts";

/** A member as `/fleet/…` shows it: a worker. */
export interface WorkerView {
  readonly id: NodeId;
  readonly name: string;
  /** Health in upper case. */
  readonly state: string;
  /** Of its link; where that is closed, the worst of its engines'. */
  readonly breaker: BreakerState;
  /** 1 for the strongest to 3, or null where it is not known. */
  readonly tier: Tier | null;
  readonly draining: boolean;
  /** Requests and attempts at it that are not over, as it last said; else attempts that are known to run or wait there. */
  readonly inFlight: number;
  /** When it was last heard of, or null for never. */
  readonly lastCheckAt: string | null;
  readonly checks: {
    /** Whether its machine is fit for work, or null where it does not say. */
    readonly conditions:
      | { readonly ok: boolean; readonly reasons: readonly string[] }
      | null;
    readonly link: { readonly breaker: BreakerState };
    readonly engines: readonly {
      readonly id: string;
      readonly state: string;
      readonly reason: string | null;
      readonly breaker: BreakerState;
      readonly restsForMs: number;
    }[];
  };
}

/** How many workers there are, and what can be asked of them (design.md 9). */
export interface FleetView {
  readonly available: number;
  readonly total: number;
  readonly workers: readonly WorkerView[];
}

const WORST_FIRST: readonly BreakerState[] = ["open", "half_open", "closed"];

/**
 * Put members and how their engines fare together. Pure.
 *
 * @param members Rows of the member table, self included.
 * @param standings How attempts fared at each node with engines.
 * @param nowMs Wall-clock time.
 */
export function fleetView(
  members: readonly MemberView[],
  standings: readonly NodeStanding[],
  nowMs: number,
): FleetView {
  const byNode = new Map(standings.map((one) => [one.node, one]));
  const workers = members.filter((one) => (one.role ?? "node") === "node");
  const views = workers.map((member) =>
    workerView(member, byNode.get(member.id), nowMs)
  );
  const counted = views.filter((one) => !one.draining);
  return {
    total: counted.length,
    available: counted.filter(isAvailable).length,
    workers: views,
  };
}

/** Healthy or degraded, and its breaker not open. */
function isAvailable({ state, breaker }: WorkerView): boolean {
  return (state === "HEALTHY" || state === "DEGRADED") && breaker !== "open";
}

function workerView(
  member: MemberView,
  standing: NodeStanding | undefined,
  nowMs: number,
): WorkerView {
  const engines = standing?.engines ?? [];
  const link = standing?.breaker ?? "closed";
  const { heardMsAgo, conditions } = member;
  return {
    id: member.id,
    name: member.name,
    state: member.health.toUpperCase(),
    breaker: link === "closed" ? worstOf(engines) : link,
    tier: member.tier ?? null,
    draining: member.draining,
    inFlight: member.inFlight ?? standing?.inFlight ?? 0,
    lastCheckAt: member.self
      ? new Date(nowMs).toISOString()
      : heardMsAgo === undefined
      ? null
      : new Date(nowMs - heardMsAgo).toISOString(),
    checks: {
      conditions: conditions ?? null,
      link: { breaker: link },
      engines: engines.map(({ engine, availability, breaker, restsForMs }) => ({
        id: engine,
        state: availability.kind,
        reason: availability.kind === "available" ? null : availability.reason,
        breaker,
        restsForMs,
      })),
    },
  };
}

function worstOf(engines: readonly EngineStanding[]): BreakerState {
  return WORST_FIRST.find((state) =>
    engines.some((one) => one.breaker === state)
  ) ?? "closed";
}
