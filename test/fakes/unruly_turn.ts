import fc from "fast-check";
import { type Mood, WORDS } from "./numbered_engine.ts";
import type { InferenceRequest } from "../../src/domain/mod.ts";
import type { Caller } from "./caller.ts";
import type { NumberedNode } from "./numbered_node.ts";

/** Something that happens in an unruly world. */
export type Turn =
  | {
    readonly kind: "ask";
    readonly at: number;
    readonly client: string;
    readonly stream: boolean;
    readonly resumable: boolean;
    /** A stop string, which its words may look like the beginning of, or null. */
    readonly stop: string | null;
    readonly source: "unsaid" | "local" | "cluster";
    /** Reads nothing until all is calm. */
    readonly isLazy: boolean;
  }
  /** Inputs that may be divided. */
  | { readonly kind: "embed"; readonly at: number; readonly client: string }
  | {
    readonly kind: "leave";
    readonly which: number;
    readonly by: "signal" | "body";
  }
  | { readonly kind: "wait"; readonly ms: number }
  /** Time goes by with nobody awake. */
  | { readonly kind: "pause"; readonly ms: number }
  | { readonly kind: "mood"; readonly at: number; readonly mood: Mood }
  | { readonly kind: "die"; readonly at: number }
  | { readonly kind: "drain"; readonly at: number; readonly is: boolean }
  /** One way of two nodes to each other. */
  | {
    readonly kind: "cut";
    readonly at: number;
    readonly to: number;
    readonly is: boolean;
  }
  /** A node knows another no more, or again. */
  | {
    readonly kind: "away";
    readonly at: number;
    readonly to: number;
    readonly is: boolean;
  }
  | { readonly kind: "poll" };

/** How many nodes there are. */
export const NODES = 3;

/** Where turns happen. Nodes are numbered from 0. */
export interface Stage {
  readonly callers: readonly Caller[];
  node(at: number): Pick<NumberedNode, "engine" | "router">;
  ask(at: number, part: Partial<InferenceRequest>, isLazy?: boolean): Caller;
  wait(ms: number): Promise<void>;
  pause(ms: number): Promise<void>;
  cut(at: number, to: number, is: boolean): void;
  away(at: number, to: number, is: boolean): void;
  poll(): void;
}

/** Of a request whose inputs may be divided. */
export const INPUTS: readonly string[] = Array.from(
  { length: 8 },
  (_, at) => `${at}`,
);
const CLIENTS = ["a", "b", "c"] as const;
const node = fc.nat({ max: NODES - 1 });
/** Between two words. */
export const SLOWEST_GAP_MS = 6000;
const gapMs = fc.constantFrom(0, 40, 700, SLOWEST_GAP_MS);
const mood: fc.Arbitrary<Mood> = fc.oneof(
  fc.record({ kind: fc.constant("answers" as const), gapMs }),
  fc.record({
    kind: fc.constantFrom(
      "breaks" as const,
      "ends_early" as const,
      "hangs" as const,
      "reports_error" as const,
    ),
    gapMs,
    after: fc.nat({ max: WORDS - 1 }),
  }),
  fc.record({
    kind: fc.constant("says" as const),
    status: fc.constantFrom(400, 409, 429, 500, 503),
    retryAfter: fc.constantFrom("1", "40"),
    afterMs: fc.constantFrom(0, 50),
  }),
  fc.record({
    kind: fc.constant("throws" as const),
    at: fc.constantFrom("start" as const, "answer" as const),
  }),
  fc.record({
    kind: fc.constant("refuses" as const),
    reason: fc.constantFrom(
      "queue_full" as const,
      "draining" as const,
      "model_not_here" as const,
    ),
  }),
);

function often<T extends Turn>(weight: number, arbitrary: fc.Arbitrary<T>) {
  return { weight, arbitrary: arbitrary as fc.Arbitrary<Turn> };
}

/** What happens in one world, in order. */
export const TURNS: fc.Arbitrary<readonly Turn[]> = fc.array(
  fc.oneof(
    often(
      9,
      fc.record({
        kind: fc.constant("ask" as const),
        at: node,
        client: fc.constantFrom(...CLIENTS),
        stream: fc.constantFrom(true, true, false),
        resumable: fc.boolean(),
        stop: fc.constantFrom(null, "3 x", "4 5 6"),
        source: fc.constantFrom("unsaid", "unsaid", "local", "cluster"),
        isLazy: fc.constantFrom(false, false, true),
      }),
    ),
    often(
      1,
      fc.record({
        kind: fc.constant("embed" as const),
        at: node,
        client: fc.constantFrom(...CLIENTS),
      }),
    ),
    often(
      1,
      fc.record({
        kind: fc.constant("pause" as const),
        ms: fc.constantFrom(300, 20_000),
      }),
    ),
    often(
      5,
      fc.record({
        kind: fc.constant("wait" as const),
        ms: fc.constantFrom(1, 50, 300, 1000, 5000, 16_000, 31_000),
      }),
    ),
    often(5, fc.record({ kind: fc.constant("mood" as const), at: node, mood })),
    often(
      2,
      fc.record({
        kind: fc.constant("leave" as const),
        which: fc.nat({ max: 40 }),
        by: fc.constantFrom("signal" as const, "body" as const),
      }),
    ),
    often(1, fc.record({ kind: fc.constant("die" as const), at: node })),
    often(
      1,
      fc.record({
        kind: fc.constant("drain" as const),
        at: node,
        is: fc.boolean(),
      }),
    ),
    often(
      2,
      fc.record({
        kind: fc.constant("cut" as const),
        at: node,
        to: node,
        is: fc.boolean(),
      }),
    ),
    often(
      1,
      fc.record({
        kind: fc.constant("away" as const),
        at: node,
        to: node,
        is: fc.boolean(),
      }),
    ),
    often(1, fc.record({ kind: fc.constant("poll" as const) })),
  ),
  { minLength: 10, maxLength: 80, size: "max" },
);

/** Let it happen. */
export async function happen(stage: Stage, turn: Turn): Promise<void> {
  switch (turn.kind) {
    case "ask": {
      const { at, client, isLazy, resumable, source, stop, stream } = turn;
      const messages = [{ role: "user", content: "hello" }];
      stage.ask(at, {
        client,
        stream,
        resumable,
        source: { kind: source },
        maxOutputTokens: WORDS,
        body: stop === null ? { messages } : { messages, stop },
      }, isLazy);
      break;
    }
    case "embed":
      stage.ask(turn.at, {
        client: turn.client,
        capability: "embedding",
        stream: false,
        maxOutputTokens: null,
        body: { input: INPUTS },
        inputCount: INPUTS.length,
        promptTokens: 1000,
      });
      break;
    case "pause":
      await stage.pause(turn.ms);
      break;
    case "leave": {
      const { callers } = stage;
      callers[turn.which % Math.max(1, callers.length)]?.leave(turn.by);
      break;
    }
    case "wait":
      await stage.wait(turn.ms);
      break;
    case "mood":
      stage.node(turn.at).engine.mood = turn.mood;
      break;
    case "die":
      stage.node(turn.at).engine.die();
      break;
    case "drain":
      stage.node(turn.at).router.drain(turn.is);
      break;
    case "cut":
      stage.cut(turn.at, turn.to, turn.is);
      break;
    case "away":
      stage.away(turn.at, turn.to, turn.is);
      break;
    case "poll":
      stage.poll();
      break;
    default: {
      const never: never = turn;
      return never;
    }
  }
}
