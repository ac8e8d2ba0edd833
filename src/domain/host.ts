import type { ClusterConfig } from "./cluster_config.ts";
import type { CopyHelp } from "./copy_help.ts";
import type { Engine } from "./engine.ts";
import type { PackAllies, PackShelf } from "./engine_packs.ts";
import type { NodeId } from "./identifier.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import type { Log } from "./log.ts";
import type { Machine } from "./machine.ts";
import type { MemberView } from "./member.ts";
import type { Metrics } from "./metrics.ts";
import type { ModelShelf } from "./model.ts";
import type { PullAllies } from "./pull_allies.ts";
import type { Router } from "./router.ts";

/**
 * What the open node hands to the cluster code: the seam between the two
 * licences. It is narrow on purpose; whatever is not here, `ee` cannot touch.
 */
export interface Host {
  /** Where it logs. */
  readonly log: Log;
  /** Where it counts. */
  readonly metrics: Metrics;
  /** Who this node is. */
  readonly node: {
    readonly id: NodeId;
    readonly name: string;
    readonly version: string;
    /** What it is for; absent for a node. */
    readonly role?: "node" | "controller";
  };
  /** What the operator said of the cluster. */
  readonly config: ClusterConfig;
  /** Folder for the cluster's own state, inside the node's data folder. */
  readonly stateDir: string;
  /** Work from peers goes in here; what peers are told comes out. */
  readonly router: Pick<Router, "serve" | "report" | "testEngines">;
  /**
   * Take no more work on this node's engines, or take it again; kept over
   * restarts. Absent where a node can not be drained.
   */
  readonly drain?: (draining: boolean) => Promise<void>;
  /** The machine this node is on; unset where nobody watches it. */
  readonly machine?: Machine;
  /** The models folder; unset where there is none to copy from or into. */
  readonly models?: ModelShelf;
  /** Engine packs that members may have from here; absent where none are kept. */
  readonly packs?: PackShelf;
  /** What the owner of this machine should do, a sentence each; absent for nothing. */
  readonly advice?: readonly string[];
  /** Who can reach this node's API; absent where it has none. */
  readonly exposure?: ApiExposure;
  /** Variables that programs of the system may see which the cluster starts; none of them is a secret. */
  readonly toolEnv?: Readonly<Record<string, string>>;
}

/** Where a node's API listens, and what guards it there. */
export interface ApiExposure {
  /** Addresses, as the operator named them. */
  readonly hosts: readonly string[];
  /** Networks whose callers need no key. */
  readonly openTo: readonly string[];
  /** Whether it has a certificate beyond loopback. */
  readonly hasTls: boolean;
}

/** What an operator can ask of the cluster code. */
export type ClusterAction =
  | "invite"
  | "join"
  | "leave"
  | "remove"
  | "door"
  | "drain"
  | "refresh"
  | "doctor"
  | "audit"
  | "copy"
  | "copies"
  | "cancel_copy"
  | "pause_copy"
  | "resume_copy";

/** What the cluster code hands back. */
export interface Cluster extends AsyncDisposable {
  /** The cluster's UUID, a label for people, or null before its keys are derived. */
  id(): string | null;
  /** Peers as engines the router may choose. Called for every placement. */
  engines(): readonly Engine[];
  /** All rows, self included. */
  members(): readonly MemberView[];
  /** Members as pulls ask them first, whichever there are by then; null where there never are any. */
  pullAllies?(): PullAllies | null;
  /** Members as engine packs can be had of them; null while there are none to ask. */
  packAllies?(): PackAllies | null;
  /**
   * What this node does about a model's demand, by its name here; null while
   * there is not too much, or where copies are not asked for.
   */
  copyHelp?(model: string): CopyHelp | null;
  /** Have the members look at this node now, because what they know of it has changed; absent where none could. */
  announce?(): void;
  /**
   * Whether nothing keeps it open: this node has no secret and was never
   * admitted, or has left. It holds no socket and no timer then.
   */
  dormant(): boolean;
  /**
   * Do what an operator asks.
   *
   * @param action What to do.
   * @param body What it needs; checked here.
   * @param signal Aborting it gives up waiting.
   * @returns The answer as the API gives it.
   * @throws {Fault} With a reason and a remedy where it can not be done.
   */
  act(
    action: ClusterAction,
    body: JsonObject,
    signal: AbortSignal,
  ): Promise<JsonValue>;
}
