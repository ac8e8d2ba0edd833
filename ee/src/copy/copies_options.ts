import type { Host } from "@covey/core/domain";
import type { Platform } from "@covey/core/platform";
import type { AuditLog } from "../audit/audit_log.ts";
import type { NodeIdentity } from "../identity/node_identity.ts";
import type { Peers } from "../membership/peers.ts";
import type { StandingPulls } from "./standing_pulls.ts";

/** What copying needs of the cluster. */
export interface CopiesOptions {
  readonly host: Host;
  readonly platform: Platform;
  readonly identity: NodeIdentity;
  readonly peers: Peers;
  readonly audit: Pick<AuditLog, "note">;
  /** Pulls of this node that were begun before. */
  readonly pulls: Pick<StandingPulls, "showOn">;
}

/** What an operator asks of copies. */
export type CopyAction =
  | "copy"
  | "copies"
  | "cancel_copy"
  | "pause_copy"
  | "resume_copy";
