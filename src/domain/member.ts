import type { HealthState } from "./health.ts";
import type { NodeId } from "./identifier.ts";

/** A row of the member table as the API shows it, self included. */
export interface MemberView {
  readonly id: NodeId;
  readonly name: string;
  readonly self: boolean;
  readonly health: HealthState;
  readonly draining: boolean;
  /** `host:port` of the link, the one in use first. */
  readonly addresses: readonly string[];
  /** Version of Covey it last said it runs, or null before its first status. */
  readonly version: string | null;
}
