import type { LogLevel, Network, Secret, StaticPeer } from "../domain/mod.ts";
import type { HostAndPort } from "./address.ts";
import type {
  EngineChoice,
  ProviderName,
  UpstreamsConfig,
} from "./node_config.ts";

/** What every setting means once it is read; the names are the keys of covey.jsonc. */
export interface SettingValues {
  readonly host: readonly HostAndPort[];
  readonly port: number;
  readonly dataDir: string | null;
  readonly modelsDir: string | null;
  readonly clusterSecret: Secret | null;
  readonly clusterSecretPrevious: Secret | null;
  readonly linkHost: string;
  readonly linkPort: number;
  readonly advertise: readonly string[];
  readonly peers: readonly StaticPeer[];
  readonly mdnsInterfaces: readonly string[] | null;
  readonly routing: "local_first" | "balanced";
  readonly apiKeys: readonly Secret[];
  readonly allowAnonymous: readonly Network[];
  readonly allowPlaintext: boolean;
  readonly tlsCert: string | null;
  readonly tlsKey: string | null;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly trustLoopback: boolean;
  readonly lendProviders: boolean;
  readonly placeModels: boolean;
  readonly continue: boolean;
  readonly upstreams: UpstreamsConfig;
  readonly providers: readonly ProviderName[];
  readonly openrouterApiKey: Secret | null;
  readonly anthropicApiKey: Secret | null;
  readonly geminiApiKey: Secret | null;
  readonly groqApiKey: Secret | null;
  readonly cerebrasApiKey: Secret | null;
  readonly deepseekApiKey: Secret | null;
  readonly openaiApiKey: Secret | null;
  readonly name: string | null;
  readonly tier: number | null;
  readonly role: "node" | "controller";
  readonly licence: Secret | null;
  readonly databaseUrl: Secret | null;
  readonly redisUrl: Secret | null;
  readonly engine: EngineChoice;
  readonly engineThreads: number | null;
  readonly slots: number | null;
  readonly context: number | null;
  readonly keepAlive: number;
  readonly pinned: readonly string[];
  readonly drain: number;
  readonly maxQueue: number;
  readonly onBattery: "local" | "serve" | "off";
  readonly logLevel: LogLevel;
  readonly hfToken: Secret | null;
  readonly hfEndpoint: string | null;
}
