import type { HealthState } from "./health.ts";
import type { NodeId } from "./identifier.ts";
import type { Conditions, MachineReading, Tier } from "./machine.ts";

/** A row of the member table as the API shows it, self included. */
export interface MemberView {
  /** Its node id. */
  readonly id: NodeId;
  /** Its name. */
  readonly name: string;
  /** Whether it is this node. */
  readonly self: boolean;
  /** This node's view of it. */
  readonly health: HealthState;
  /** Whether it takes no more work. */
  readonly draining: boolean;
  /** Its weight class, 1 the strongest; absent where nobody knows it. */
  readonly tier?: Tier;
  /** Requests and attempts at it that are not over, as it last said; absent where it does not say. */
  readonly inFlight?: number;
  /** `host:port` of the link, the one in use first. */
  readonly addresses: readonly string[];
  /** Version of Covey it last said it runs, or null before its first status. */
  readonly version: string | null;
  /** What it is in the cluster; absent for a member. */
  readonly state?: MemberState;
  /** What it is for; absent for a node. */
  readonly role?: "node" | "controller";
  /** Its seat: `community`, a licence's id, or null without one; absent where there is no cluster. */
  readonly seat?: string | null;
  /** What its operator should know, with the remedy; absent when all is well. */
  readonly note?: string;
  /** Its machine as it last said; absent where it says nothing of it. */
  readonly machine?: MachineReading;
  /** Milliseconds since it was last heard of; absent for this node, and for one never heard of. */
  readonly heardMsAgo?: number;
  /** Whether its machine is fit for work; absent where it does not say. */
  readonly conditions?: Conditions;
}

/** What a row is in the cluster. */
export type MemberState =
  | "member"
  /** Without a seat after two halves came together: it takes and gives no work. */
  | "unseated"
  /** Its id is pinned to another key: it is refused. */
  | "identity_changed"
  /** An operator took it out, as it has heard itself. */
  | "removed";
