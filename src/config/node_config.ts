import type {
  Capability,
  ClusterConfig,
  LogLevel,
  Secret,
} from "../domain/mod.ts";

/** One address the API listens on. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** A model of a simulated engine (design.md 8). */
export interface SimulatedModelConfig {
  readonly id: string;
  readonly capability: Capability;
  readonly loadMs: number;
  readonly prefillTokensPerSecond: number;
  /** Of one sequence alone. */
  readonly decodeTokensPerSecond: number;
  /** Each further sequence slows all by this share. */
  readonly batchSlowdown: number;
  /** Relative spread of service times, 0.1 for 10 %. */
  readonly noise: number;
  readonly slots: number;
  readonly contextLength: number;
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

/** An engine listed in covey.jsonc. */
export type EngineConfig = {
  readonly kind: "simulated";
  readonly id: string;
  readonly models: readonly SimulatedModelConfig[];
  readonly faults: SimulatedFaults;
};

/** Which engine runs GGUF files. */
export type EngineChoice = "auto" | "embedded" | "off";

/** Everything an operator can say, checked and frozen. */
export interface NodeConfig {
  readonly name: string;
  readonly dataDir: string;
  readonly modelsDir: string;
  readonly listen: readonly ListenAddress[];
  readonly apiKeys: readonly Secret[];
  readonly allowAnonymous: boolean;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly trustLoopback: boolean;
  readonly routing: "local_first" | "balanced";
  readonly role: "node" | "controller";
  readonly engine: EngineChoice;
  /** Threads of an engine process, or null to choose by what is free. */
  readonly engineThreads: number | null;
  /** Parallel sequences of an engine process. */
  readonly slots: number;
  /** Tokens of context per slot, or null for what the model was trained for, at most 32,768. */
  readonly contextLength: number | null;
  readonly keepAliveMs: number;
  readonly maxQueue: number;
  readonly logLevel: LogLevel;
  readonly engines: readonly EngineConfig[];
  /** Null unless a secret is set: then there is no cluster at all. */
  readonly cluster: ClusterConfig | null;
}
