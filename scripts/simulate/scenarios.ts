import {
  FIXED,
  HEAVY,
  MODEL,
  node,
  type Scenario,
  scenario,
} from "./scenario.ts";

const first = { isEntry: true };
const PAIR = [node("left", 1, first), node("right", 1, first)];
const TRIO = [
  node("fast", 1, first),
  node("half", 0.5, first),
  node("tenth", 0.1),
];
const SEED_PAIR = [node("m5", 1, first), node("m4", 0.85)];

const TALKERS = [
  node("left", 0.5, { ...first, prefixes: 16 }),
  node("right", 0.5, { ...first, prefixes: 16 }),
  node("third", 0.5, { prefixes: 16 }),
];
const TURNS = {
  kind: "fixed",
  promptTokens: 400,
  outputTokens: 120,
} as const;

/** Every scenario, by the issue that a router's user would name it for. */
export const SCENARIOS: readonly Scenario[] = [
  scenario("pair", "two equal machines, open loop at 0.8", PAIR),
  scenario(
    "pair_closed",
    "two equal machines, 4 clients, fixed lengths",
    PAIR,
    {
      arrivals: { kind: "closed", clients: 4 },
      lengths: FIXED,
      concedes:
        "every rule that keeps both busy has the same mean here; Covey's draws among predictions within 5 %, counting work takes the smaller",
    },
  ),
  scenario("trio_half", "1 : 0.5 : 0.1 at load 0.5", TRIO, {
    arrivals: { kind: "open", load: 0.5 },
  }),
  scenario("trio", "1 : 0.5 : 0.1 at load 0.8", TRIO),
  scenario("trio_24", "1 : 0.5 : 0.1, 24 clients, fixed lengths", TRIO, {
    arrivals: { kind: "closed", clients: 24 },
    lengths: FIXED,
  }),
  scenario("trio_8", "1 : 0.5 : 0.1, 8 clients, heavy-tailed lengths", TRIO, {
    arrivals: { kind: "closed", clients: 8 },
    concedes:
      "Herd leaves the slowest idle, so that nobody waits for an answer from it, at the price of throughput and of the mean",
  }),
  scenario(
    "pi",
    "a Pi beside a workstation of four slots, load 0.5",
    [
      node("workstation", 3.3, { ...first, slots: 4, batchSlowdown: 0.12 }),
      node("pi", 0.1, first),
    ],
    { arrivals: { kind: "open", load: 0.5 } },
  ),
  scenario("bursts", "twelve at once, 1 : 0.5 : 0.1 at load 0.5", TRIO, {
    arrivals: { kind: "bursts", load: 0.5, size: 12 },
  }),
  scenario(
    "heavy_unknown",
    "lengths of which nothing is known, load 0.8",
    TRIO,
    {
      lengths: { ...HEAVY, known: 0 } as Scenario["lengths"],
      learnsLengths: true,
    },
  ),
  scenario(
    "conversations",
    "ten turns each, prefixes kept, slow prefill, 4 clients",
    TALKERS,
    {
      arrivals: {
        kind: "conversations",
        clients: 4,
        turns: 10,
        pauseMs: 20_000,
      },
      lengths: TURNS,
    },
  ),
  scenario(
    "conversations_idle",
    "the same with 2 clients that think for a minute: all are idle, as a rule",
    TALKERS,
    {
      arrivals: {
        kind: "conversations",
        clients: 2,
        turns: 10,
        pauseMs: 60_000,
      },
      lengths: TURNS,
    },
  ),
  scenario(
    "cold",
    "models cold everywhere, one of the three already warm on one node",
    [
      node("left", 1, { ...first, warm: [], loadMs: 20_000 }),
      node("right", 0.6, { ...first, loadMs: 20_000 }),
    ],
    { jobs: 400, arrivals: { kind: "open", load: 0.3 }, lengths: FIXED },
  ),
  scenario(
    "throttle",
    "one of a pair at 40 % for 100 s of every 300, load 0.5",
    [
      node("cool", 1, first),
      node("hot", 1, {
        throttle: {
          periodMs: 300_000,
          fromMs: 100_000,
          untilMs: 200_000,
          factor: 0.4,
        },
      }),
    ],
    { arrivals: { kind: "open", load: 0.5 }, lengths: FIXED, jobs: 4000 },
  ),
  scenario(
    "fast_failing",
    "a node that answers 503 at once, from one minute on",
    [
      node("left", 1, first),
      node("right", 1),
      node("broken", 1, { failsFromMs: 60_000 }),
    ],
    { arrivals: { kind: "open", load: 0.4 } },
  ),
  scenario(
    "two_entries",
    "eight equal nodes, two entries that share no state, load 0.8",
    Array.from({ length: 8 }, (_, n) => node(`n${n}`, 1, { isEntry: n < 2 })),
  ),
  scenario(
    "stale",
    "the same with reports every 10 s",
    Array.from({ length: 8 }, (_, n) => node(`n${n}`, 1, { isEntry: n < 2 })),
    { pollMs: 10_000 },
  ),
  scenario(
    "evictions",
    "two models, room for one per node, load 0.65",
    [
      node("left", 1, { ...first, room: 1, warm: ["red"] }),
      node("right", 1, { ...first, room: 1, warm: ["blue"] }),
    ],
    {
      models: [{ name: "red", share: 0.5 }, { name: "blue", share: 0.5 }],
      arrivals: { kind: "open", load: 0.65 },
      lengths: FIXED,
      concedes:
        "Herd never leaves a loaded model for a cold one, which is best while both are asked for equally; Covey's loads where a queue costs more than two loads",
    },
  ),
  scenario("seed_pair_batch", "seed 1's pair, 8 at once", SEED_PAIR, {
    arrivals: { kind: "batch" },
    lengths: FIXED,
    jobs: 8,
    noise: 0,
    priorError: 0,
  }),
  scenario("seed_pair_loop", "seed 1's pair, 4 clients", SEED_PAIR, {
    arrivals: { kind: "closed", clients: 4 },
    lengths: FIXED,
    jobs: 400,
    noise: 0.02,
  }),
  scenario("one_client", "1 : 0.85, one client", SEED_PAIR, {
    arrivals: { kind: "closed", clients: 1 },
    lengths: FIXED,
    jobs: 400,
    noise: 0.02,
  }),
  scenario(
    "thousand",
    "a thousand mixed nodes, two entries, load 0.7",
    Array.from(
      { length: 1000 },
      (_, n) =>
        node(`n${n}`, [3.3, 1.3, 0.4, 0.1][n % 4] ?? 1, { isEntry: n < 2 }),
    ),
    { arrivals: { kind: "open", load: 0.7 }, jobs: 600, pollMs: 10_000 },
  ),
];

/** Name of the only model of most scenarios, for those who read the table. */
export const USUAL_MODEL: string = MODEL;
