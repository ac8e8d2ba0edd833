import type { ClusterConfig } from "./cluster_config.ts";
import type { Engine } from "./engine.ts";
import type { NodeId } from "./identifier.ts";
import type { Log } from "./log.ts";
import type { MemberView } from "./member.ts";
import type { Metrics } from "./metrics.ts";
import type { Router } from "./router.ts";

/**
 * What the open node hands to the cluster code: the seam between the two
 * licences. It is narrow on purpose; whatever is not here, `ee` cannot touch.
 */
export interface Host {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly node: {
    readonly id: NodeId;
    readonly name: string;
    readonly version: string;
  };
  readonly config: ClusterConfig;
  /** Folder for the cluster's own state, inside the node's data folder. */
  readonly stateDir: string;
  /** Work from peers goes in here; what peers are told comes out. */
  readonly router: Pick<Router, "serve" | "report">;
}

/** What the cluster code hands back. */
export interface Cluster extends AsyncDisposable {
  /** The cluster's UUID, a label for people, or null before its keys are derived. */
  id(): string | null;
  /** Peers as engines the router may choose. Called for every placement. */
  engines(): readonly Engine[];
  /** All rows, self included. */
  members(): readonly MemberView[];
}
