import type {
  Capability,
  ClusterConfig,
  LogLevel,
  ModelSet,
  Network,
  Secret,
  Tier,
} from "../domain/mod.ts";

/** One address the API listens on. */
export interface ListenAddress {
  /** Address. */
  readonly host: string;
  /** Port, 0 for any free one. */
  readonly port: number;
}

/** A model of a simulated engine (design.md 8). */
export interface SimulatedModelConfig {
  /** Name in requests. */
  readonly id: string;
  /** The kind of work it plays. */
  readonly capability: Capability;
  /** Time the first request waits for a load, in milliseconds. */
  readonly loadMs: number;
  /** Prompt tokens a second. */
  readonly prefillTokensPerSecond: number;
  /** Of one sequence alone. */
  readonly decodeTokensPerSecond: number;
  /** Each further sequence slows all by this share. */
  readonly batchSlowdown: number;
  /** Relative spread of service times, 0.1 for 10 %. */
  readonly noise: number;
  /** Sequences side by side. */
  readonly slots: number;
  /** Tokens of prompt and answer together. */
  readonly contextLength: number;
  /** Prompts whose evaluated state is kept. */
  readonly cachedPrompts: number;
}

/** How a simulated engine is told to fail. */
export interface SimulatedFaults {
  /** Share of requests answered 500. */
  readonly errorRate: number;
  /** Wait before each answer begins. */
  readonly stallMs: number;
  /** Break the stream after that many tokens, or null. */
  readonly dieAfterTokens: number | null;
}

/** A program of a command engine (design.md 8). */
export type CommandModelConfig =
  & {
    /** Name in requests. */
    readonly id: string;
    /** Program and arguments, with placeholders such as `{output}`. */
    readonly command: readonly string[];
    /** Requests side by side. */
    readonly slots: number;
    /** Longest time of one request. */
    readonly timeLimitMs: number;
  }
  & (
    | {
      readonly capability: "speech";
      readonly output: "wav";
      readonly voice?: string;
    }
    | {
      readonly capability: "transcription";
      readonly output: "text" | "sphinx" | "whisper-json" | "whisper-json-full";
      readonly language?: string;
    }
  );

/** A command engine listed in covey.jsonc. */
export interface CommandEngineConfig {
  /** What tells it from other kinds. */
  readonly kind: "command";
  /** Name of the engine. */
  readonly id: string;
  /** Its programs. */
  readonly models: readonly CommandModelConfig[];
}

/** An engine listed in covey.jsonc. */
export type EngineConfig = SimulatedEngineConfig | CommandEngineConfig;

/** A simulated engine listed in covey.jsonc. */
export type SimulatedEngineConfig = {
  readonly kind: "simulated";
  readonly id: string;
  readonly models: readonly SimulatedModelConfig[];
  /** Models that fit into memory at once, or null for all. */
  readonly maxLoaded: number | null;
  readonly faults: SimulatedFaults;
};

/** A server that runs already, named by the operator. */
export interface UpstreamConfig {
  /** Name of its engine. */
  readonly name: string;
  /** What it is. */
  readonly kind:
    | "ollama"
    | "lmstudio"
    | "llama-server"
    | "vllm"
    | "openai-compatible";
  /** An http or https URL, with or without `/v1`. */
  readonly url: string;
}

/** Which servers that run already are used as engines. */
export type UpstreamsConfig =
  /** Those found on this machine. */
  | { readonly kind: "auto" }
  | { readonly kind: "off" }
  | { readonly kind: "named"; readonly upstreams: readonly UpstreamConfig[] };

/** What the operator said that models of other servers do. */
export interface ModelCapabilities {
  /** Their name, `*` for any characters. */
  readonly pattern: string;
  /** What they can be asked for. */
  readonly capabilities: readonly Capability[];
}

/** Names of the providers that are known. */
export type ProviderName =
  | "openrouter"
  | "anthropic"
  | "gemini"
  | "groq"
  | "cerebras"
  | "deepseek"
  | "openai";

/** A provider that the operator named and gave a key of. */
export interface ProviderConfig {
  /** Which one. */
  readonly name: ProviderName;
  /** Its key. */
  readonly key: Secret;
}

/** What the API proves itself by beyond loopback: a certificate of the operator's, or the node's own. */
export type TlsConfig =
  | { readonly kind: "self" }
  | {
    readonly kind: "files";
    readonly certificateFile: string;
    readonly keyFile: string;
  };

/** Which engine runs GGUF files. */
export type EngineChoice = "auto" | "embedded" | "llama-server" | "off";

/** Everything an operator can say, checked and frozen. */
export interface NodeConfig {
  /** Name of this node. */
  readonly name: string;
  /** Folder of the node's state. */
  readonly dataDir: string;
  /** Folder of the weights. */
  readonly modelsDir: string;
  /** Where the API listens. */
  readonly listen: readonly ListenAddress[];
  /** Keys of clients. */
  readonly apiKeys: readonly Secret[];
  /** Networks from which callers need no key; none for nowhere. */
  readonly allowAnonymous: readonly Network[];
  /** How often each key, and each address without one, may ask; null for no limit. */
  readonly rateLimit: { readonly requestsPerMinute: number } | null;
  /** TLS of the API beyond loopback, or null for none. */
  readonly tls: TlsConfig | null;
  /** Further names that clients may call this node by. */
  readonly allowedHosts: readonly string[];
  /** Web pages that may call this node. */
  readonly allowedOrigins: readonly string[];
  /** Whether programs on this machine need no key. */
  readonly trustLoopback: boolean;
  /** Where requests of no stated source go. */
  readonly routing: "local_first" | "balanced";
  /** A controller never runs work itself. */
  readonly role: "node" | "controller";
  /** Weight class of this machine, 1 the strongest; null for by its hardware. */
  readonly tier: Tier | null;
  /** What runs GGUF files. */
  readonly engine: EngineChoice;
  /** Threads of an engine process, or null to choose by what is free. */
  readonly engineThreads: number | null;
  /** Parallel sequences of an engine process. */
  readonly slots: number;
  /** Tokens of context per slot, or null for what the model was trained for, at most 32,768. */
  readonly contextLength: number | null;
  /** Idle time before a model is unloaded; `Infinity` for never. */
  readonly keepAliveMs: number;
  /** Names of models that stay in memory once they are there. */
  readonly pinned: readonly string[];
  /** Time that running answers have to end when the node is stopped. */
  readonly drainMs: number;
  /** Requests that may wait per model. */
  readonly maxQueue: number;
  /** Whom a node on battery serves: its own clients, everyone, or nobody. */
  readonly onBattery: "local" | "serve" | "off";
  /** Least weight of a line that is logged. */
  readonly logLevel: LogLevel;
  /** Engines listed in covey.jsonc. */
  readonly engines: readonly EngineConfig[];
  /** Servers that run already and are used as engines. */
  readonly upstreams: UpstreamsConfig;
  /** Providers that may be used, in the order in which they were named. */
  readonly providers: readonly ProviderConfig[];
  /** Whether peers may spend this node's provider keys. */
  readonly lendProviders: boolean;
  /** Names that the operator declared to mean one model. */
  readonly modelSets: readonly ModelSet[];
  /** What models of upstream servers do, where the operator said it; the first that fits holds. */
  readonly modelCapabilities: readonly ModelCapabilities[];
  /** Whether another engine goes on where a stream breaks off, unless a request says otherwise. */
  readonly continueStreams: boolean;
  /** Where models are pulled from. */
  readonly hub: {
    /** Base address, without a slash at its end. */
    readonly endpoint: string;
    /** For models that not everybody may have; it goes to the hub alone. */
    readonly token: Secret | null;
  };
  /** Without a secret in it, and unless an operator acts, there is no cluster at all. */
  readonly cluster: ClusterConfig;
}
