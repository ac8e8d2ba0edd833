import type { HealthState } from "./health.ts";
import type { NodeId } from "./identifier.ts";
import type { Conditions, MachineReading } from "./machine.ts";

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
  /** `host:port` of the link, the one in use first. */
  readonly addresses: readonly string[];
  /** Version of Covey it last said it runs, or null before its first status. */
  readonly version: string | null;
  /** Its machine as it last said; absent where it says nothing of it. */
  readonly machine?: MachineReading;
  /** Whether its machine is fit for work; absent where it does not say. */
  readonly conditions?: Conditions;
}
