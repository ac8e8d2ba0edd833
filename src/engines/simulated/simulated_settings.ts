import type { Capability } from "../../domain/mod.ts";

/** A model that a simulated engine plays (design.md 8). */
export interface SimulatedModel {
  readonly id: string;
  readonly capability: Capability;
  /** Time the first request waits for the load; 0 for a model that is warm from the start. */
  readonly loadMs: number;
  readonly prefillTokensPerSecond: number;
  /** Of one sequence alone. */
  readonly decodeTokensPerSecond: number;
  /** Each further running sequence slows all by this share. */
  readonly batchSlowdown: number;
  /** Relative spread of service times, 0.1 for 10 %. */
  readonly noise: number;
  readonly slots: number;
  readonly contextLength: number;
  /** Prompts whose evaluated state is kept, 64 unless said. */
  readonly cachedPrompts?: number;
}

/**
 * A simulated engine: each of its models as if it had a device to itself, or,
 * where only so many fit into memory, all on one device.
 */
export interface SimulatedSettings {
  readonly kind: "simulated";
  readonly id: string;
  readonly models: readonly SimulatedModel[];
  /** Models that fit into memory at once, of those that take time to load; null or absent for all. */
  readonly maxLoaded?: number | null;
  readonly faults: {
    /** Share of requests answered 500. */
    readonly errorRate: number;
    /** Wait before each answer begins. */
    readonly stallMs: number;
    /** Break an answer off after that many tokens, or null. */
    readonly dieAfterTokens: number | null;
  };
}
