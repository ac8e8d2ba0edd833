/** What one node of a simulation is. */
export interface NodeSpec {
  readonly name: string;
  /** 1 decodes 30 and prefills 1,000 tokens a second, one sequence alone. */
  readonly speed: number;
  readonly slots: number;
  /** Each further sequence slows all of them by this share. */
  readonly batchSlowdown: number;
  /** Time to load a model. */
  readonly loadMs: number;
  /** Models that fit into memory at a time. */
  readonly room: number;
  /** Models in memory at the start. */
  readonly warm: readonly string[];
  /** Whether clients call it. */
  readonly isEntry: boolean;
  /** Conversations whose prefix it keeps. */
  readonly prefixes: number;
  readonly throttle: Throttle | null;
  /** Answers 503 at once from then on, or null. */
  readonly failsFromMs: number | null;
}

/** A node that is slow again and again, for part of each period. */
export interface Throttle {
  readonly periodMs: number;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly factor: number;
}

/** How requests come. */
export type Arrivals =
  /** Poisson at a share of what all nodes together can do. */
  | { readonly kind: "open"; readonly load: number }
  /** Groups of `size` at once, the groups Poisson. */
  | { readonly kind: "bursts"; readonly load: number; readonly size: number }
  /** So many clients, each asking again as soon as it was answered. */
  | { readonly kind: "closed"; readonly clients: number }
  /** All at once. */
  | { readonly kind: "batch" }
  /** Conversations of several turns, the pauses exponential. */
  | {
    readonly kind: "conversations";
    readonly clients: number;
    readonly turns: number;
    readonly pauseMs: number;
  };

/** How long prompts and answers are. */
export type Lengths =
  | {
    readonly kind: "fixed";
    readonly promptTokens: number;
    readonly outputTokens: number;
  }
  /** Answers lognormal; `known` correlates what is forecast with the logarithm of what comes. */
  | {
    readonly kind: "heavy";
    readonly promptTokens: number;
    readonly medianTokens: number;
    readonly sigma: number;
    readonly known: number;
  };

/** A world and what is asked of it. */
export interface Scenario {
  readonly name: string;
  readonly about: string;
  readonly nodes: readonly NodeSpec[];
  /** Models with the share of requests that each gets. */
  readonly models: readonly {
    readonly name: string;
    readonly share: number;
  }[];
  readonly arrivals: Arrivals;
  readonly lengths: Lengths;
  /** Where lengths are learned by the router's own book alone instead of forecast. */
  readonly learnsLengths: boolean;
  readonly jobs: number;
  /** Standard deviation of the logarithm of each job's service time. */
  readonly noise: number;
  /** How far priors are off: standard deviation of their logarithm. */
  readonly priorError: number;
  readonly pollMs: number;
  /** Round trip between nodes. */
  readonly hopMs: number;
  readonly policy: "balanced" | "local_first";
  /** Why another rule may win here; absent where none should. */
  readonly concedes?: string;
}

/** Tokens a second of a node of speed 1. */
export const DECODE_PER_SECOND = 30;
export const PREFILL_PER_SECOND = 1000;

/** The model of scenarios that have one. */
export const MODEL = "sim-8b";

/** A node with everything usual about it. */
export function node(
  name: string,
  speed: number,
  more: Partial<NodeSpec> = {},
): NodeSpec {
  return {
    name,
    speed,
    slots: 1,
    batchSlowdown: 0,
    loadMs: 12_000,
    room: 8,
    warm: [MODEL],
    isEntry: false,
    prefixes: 0,
    throttle: null,
    failsFromMs: null,
    ...more,
  };
}

/** A scenario with everything usual about it. */
export function scenario(
  name: string,
  about: string,
  nodes: readonly NodeSpec[],
  more: Partial<Scenario> = {},
): Scenario {
  return {
    name,
    about,
    nodes,
    models: [{ name: MODEL, share: 1 }],
    arrivals: { kind: "open", load: 0.8 },
    lengths: HEAVY,
    learnsLengths: false,
    jobs: 2000,
    noise: 0.1,
    priorError: 0.1,
    pollMs: 2000,
    hopMs: 2,
    policy: "balanced",
    ...more,
  };
}

/** Lognormal answers of median 150, of which the router has an idea. */
export const HEAVY: Lengths = {
  kind: "heavy",
  promptTokens: 300,
  medianTokens: 150,
  sigma: 1.1,
  known: 0.7,
};
/** Answers of 128 tokens, as in seed 1's table. */
export const FIXED: Lengths = {
  kind: "fixed",
  promptTokens: 20,
  outputTokens: 128,
};

/** Jobs a second that a node ends with all its slots busy, one job taking `jobMs` at speed 1. */
export function jobsPerSecond(spec: NodeSpec, jobMs: number): number {
  return spec.slots * spec.speed /
    (1 + spec.batchSlowdown * (spec.slots - 1)) / jobMs * 1000;
}

/** Mean service time of a job at speed 1, in milliseconds. */
export function meanJobMs(lengths: Lengths): number {
  const outputTokens = lengths.kind === "fixed"
    ? lengths.outputTokens
    : lengths.medianTokens * Math.exp(lengths.sigma ** 2 / 2);
  return lengths.promptTokens / PREFILL_PER_SECOND * 1000 +
    outputTokens / DECODE_PER_SECOND * 1000;
}
