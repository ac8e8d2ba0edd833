import type {
  Cluster,
  ClusterAction,
  JsonObject,
  Log,
  MemberView,
  Metrics,
  ModelCare,
  ModelConversions,
  ModelForecasts,
  ModelImports,
  ModelInventory,
  ModelPulls,
  NodeId,
  PackCare,
  Router,
  Source,
} from "../domain/mod.ts";
import type { Clock, Entropy } from "../platform/mod.ts";
import type { ClientKeys } from "../store/client_keys.ts";
import type { AccessRules } from "./access.ts";
import type { HeadFields } from "./head_fields.ts";
import type { RateLimit } from "./rate_limit.ts";

/** Whether the node can serve yet. */
export type Readiness =
  | { readonly kind: "ready" }
  | { readonly kind: "starting"; readonly waitingFor: string };

/** What the API is built from. */
export interface ApiOptions {
  readonly router: Router;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  readonly metrics: Metrics;
  /** The page of `GET /metrics`. */
  readonly renderMetrics: () => Promise<string>;
  /** Rows of the member table, self included. */
  readonly members: () => readonly MemberView[];
  /** The cluster's UUID, or null before its keys are derived. */
  readonly clusterId: () => string | null;
  /** Whether this node is in a cluster or about to be. */
  readonly hasCluster: () => boolean;
  /** What this node does about a model that too many ask for; absent where nothing. */
  readonly copyHelp?: Cluster["copyHelp"];
  /** Does what an operator asks of the cluster. */
  readonly act: Cluster["act"];
  /** JSON schemas of the bodies that `act` takes, by action; absent where nothing acts. */
  readonly describeActions?: () => Promise<
    { readonly [Action in ClusterAction]?: JsonObject }
  >;
  readonly ready: () => Readiness;
  /** Why a file of that name in the models folder is no usable model, or null. */
  readonly problemWith?: (model: string) => string | null;
  /** The models that lie here, for who may care for them; absent where there is no models folder. */
  readonly models?: ModelInventory & ModelCare;
  /** Takes models over from other programs; absent where none can be. */
  readonly imports?: ModelImports;
  /** Makes smaller models of those that lie here; absent where none can be. */
  readonly conversions?: ModelConversions;
  /** Models that are being fetched; absent where none can be. */
  readonly pulls?: ModelPulls;
  /** Tells what models would take before they are pulled; absent where none can be. */
  readonly forecasts?: ModelForecasts;
  /** Engine packs, had of members; absent where none are kept. */
  readonly packs?: PackCare;
  readonly access: AccessRules;
  /** Keys that the operator gives by name; absent where none are kept. */
  readonly clientKeys?: ClientKeys;
  /** How often each key, and each address without one, may ask; null or absent for no limit. */
  readonly rateLimit?: RateLimit | null;
  /** Drains this node, or has it take work again, and keeps that; absent where it is kept until the node ends. */
  readonly drain?: (draining: boolean) => Promise<void>;
  readonly self: { readonly id: NodeId; readonly name: string };
  /** Whether broken streams go on elsewhere unless a request says otherwise; absent for no. */
  readonly continueStreams?: boolean;
  /** Most bytes of a request's body; 64 MiB unless told otherwise. */
  readonly bodyLimitBytes?: number;
}

/** One request on its way to its handler, admitted and matched. */
export interface Call {
  readonly request: Request;
  readonly fields: HeadFields;
  /** Aborts when the client left. */
  readonly signal: AbortSignal;
  /** Decoded values of the route's pattern. */
  readonly params: Readonly<Record<string, string>>;
  /** What the path's prefix said of the source. */
  readonly prefix: Source;
  /** Opaque tag of the caller. */
  readonly client: string;
}

/** What answers a route. A thrown fault becomes the dialect's error. */
export type Handler = (call: Call) => Response | Promise<Response>;
