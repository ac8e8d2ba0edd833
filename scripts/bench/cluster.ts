/**
 * Two machines against one, in real processes over the real link, on simulated
 * engines: text of 128 tokens and embeddings of 32 inputs at rising concurrency,
 * for an equal pair and for seed 1's own (1 : 0.85). Every ratio is of one run.
 *
 * A text takes 0.8 s here and took 4.3 s on the seed's machines. It must not be
 * much shorter: with as many callers as machines each machine waits while an
 * answer goes home and the next request comes, about 5 ms here and some more
 * through a member, and one machine alone has the other caller's request in its
 * queue meanwhile. At 0.16 s a text that is 5 % of the ratio, and says nothing
 * of the router.
 *
 * Run: deno task bench:cluster [--quick] [--json FILE]
 *   [--pair equal|seed] [--routing balanced|local_first] [--work text|embeddings]
 *   [--at 1,2] (these numbers of callers, in place of the usual ones)
 *   [--scenario throttle]
 *
 * @module
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { closedLoop, streamChat } from "../lab/chat.ts";
import { embed } from "../lab/embed.ts";
import { membersSeen } from "../lab/members.ts";
import { type NodeProcess, startNode } from "../lab/node_process.ts";
import { boundOf, type Goal, goalsOf, type Measured } from "./cluster_goals.ts";
import { measureThrottle } from "./cluster_throttle.ts";

/** How much is done of everything. */
interface Extent {
  readonly decodePerSecond: number;
  readonly prefillPerSecond: number;
  readonly textAt: readonly number[];
  readonly embeddingsAt: readonly number[];
  /** Jobs at concurrency 1, and at each other. */
  readonly textJobs: readonly [one: number, more: number];
  readonly embeddingJobs: number;
  readonly variants: readonly Variant[];
}

interface Variant {
  readonly pair: string;
  /** Speed of the second machine, that of the first being 1. */
  readonly speed: number;
  readonly routing: "balanced" | "local_first";
  /** Concurrencies to measure; all unless given. */
  readonly at?: readonly number[];
}

/** Two machines against one at one concurrency. */
interface Row extends Measured {
  readonly pair: string;
  readonly routing: string;
  readonly jobs: number;
  readonly oneMs: number;
  readonly twoMs: number;
  /** Medians. */
  readonly oneTotalMs: number;
  readonly twoTotalMs: number;
  readonly goals: readonly Goal[];
}

const TOKENS = 128;
const INPUTS = 32;
const EQUAL: Variant = { pair: "equal", speed: 1, routing: "balanced" };
const FULL: Extent = {
  decodePerSecond: 160,
  prefillPerSecond: 1600,
  textAt: [1, 2, 4, 8],
  embeddingsAt: [1, 2, 4, 8, 16, 32],
  textJobs: [16, 64],
  embeddingJobs: 32,
  variants: [
    EQUAL,
    // With others to choose from it is another policy only for a single caller.
    { ...EQUAL, routing: "local_first", at: [1] },
    { pair: "seed", speed: 0.85, routing: "balanced" },
  ],
};
const QUICK: Extent = {
  ...FULL,
  decodePerSecond: 640,
  prefillPerSecond: 4000,
  textAt: [1, 8],
  embeddingsAt: [1, 8],
  textJobs: [10, 64],
  embeddingJobs: 16,
  variants: [EQUAL],
};

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    json: { type: "string" },
    pair: { type: "string" },
    routing: { type: "string" },
    work: { type: "string" },
    at: { type: "string" },
    scenario: { type: "string" },
  },
});
const usual = values.quick ? QUICK : FULL;
const only = parseAt(values.at);
/** Exactly the concurrencies that were asked for, whether or not they are usual. */
const extent: Extent = {
  ...usual,
  ...only === null ? {} : { textAt: only, embeddingsAt: only },
  ...values.pair === undefined && values.routing === undefined
    ? {}
    : { variants: FULL.variants },
};
if (values.scenario === "throttle") {
  await report("cluster throttle", await measureThrottle());
} else {
  await compare();
}

async function compare(): Promise<void> {
  const rows: Row[] = [];
  for (const variant of extent.variants) {
    if (values.pair !== undefined && values.pair !== variant.pair) continue;
    if (values.routing !== undefined && values.routing !== variant.routing) {
      continue;
    }
    rows.push(...await measure(variant));
  }
  if (rows.length === 0) {
    throw new RangeError(
      `Failed to measure: nothing is both --pair ${
        values.pair ?? "any"
      }, --routing ${values.routing ?? "any"}, --work ${
        values.work ?? "any"
      } and --at ${values.at ?? "any"}${
        values.quick ? " with --quick" : ""
      }; leave one of them away`,
    );
  }
  // deno-lint-ignore no-console
  console.table(rows.map((row) => ({
    pair: row.pair,
    routing: row.routing,
    work: row.work,
    c: row.concurrency,
    "one s": (row.oneMs / 1000).toFixed(2),
    "two s": (row.twoMs / 1000).toFixed(2),
    ratio: row.ratio.toFixed(3),
    bound: row.bound?.toFixed(3) ?? "",
    "of bound": row.bound === null ? "" : `${percent(row.ratio / row.bound)} %`,
    "TTFT one → two ms": row.oneTtftMs === null || row.twoTtftMs === null
      ? ""
      : `${Math.round(row.oneTtftMs)} → ${Math.round(row.twoTtftMs)}`,
    "total one → two ms": `${Math.round(row.oneTotalMs)} → ${
      Math.round(row.twoTotalMs)
    }`,
    goals: row.goals.map((goal) =>
      `${goal.what} ${goal.measured.toFixed(2)} of ${goal.reach.toFixed(2)}: ${
        goal.reached ? "reached" : "MISSED"
      }`
    ).join("; "),
  })));
  await report("cluster", { quick: values.quick, rows });
}

async function report(bench: string, figures: object): Promise<void> {
  const json = JSON.stringify({ bench, ...figures });
  if (values.json !== undefined) await Deno.writeTextFile(values.json, json);
  // deno-lint-ignore no-console
  console.log(json);
}

/** Whether a part of the tables was asked for. */
function wants(work: Row["work"], concurrency: number, { at }: Variant) {
  return (values.work ?? work) === work && (at?.includes(concurrency) ?? true);
}

function parseAt(text: string | undefined): readonly number[] | null {
  if (text === undefined) return null;
  return text.split(",").map((one) => {
    const concurrency = Number(one);
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      throw new RangeError(
        `Failed to read --at ${JSON.stringify(text)}: ${
          JSON.stringify(one)
        } is no number of callers; give some like 1,8`,
      );
    }
    return concurrency;
  });
}

async function measure(variant: Variant): Promise<Row[]> {
  const folder = await Deno.makeTempDir({ prefix: "covey-bench-" });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  const secret = crypto.getRandomValues(new Uint8Array(20)).toHex();
  const entry = stack.use(await start(folder, "first", secret, 1, variant));
  const second = stack.use(
    await start(folder, "second", secret, variant.speed, variant),
  );
  await membersSeen([entry.url, second.url], 2, 15_000);
  // Both learn their speeds, and the links are opened.
  for (const source of ["cluster", "local", `node:second`]) {
    await closedLoop(4, 1, (n) => text(entry, n, source));
    await closedLoop(4, 1, (n) => embeddings(entry, n, source));
  }
  const found: Row[] = [];
  const add = (row: Omit<Row, "goals">) => {
    found.push({ ...row, goals: goalsOf(row, variant.speed) });
    // A run takes many minutes: what is measured stands there at once.
    const { concurrency, pair, ratio, routing, work } = row;
    // deno-lint-ignore no-console
    console.error(
      `${pair} ${routing} ${work} at ${concurrency}: ${ratio.toFixed(3)}`,
    );
  };
  for (const concurrency of extent.textAt) {
    if (!wants("text", concurrency, variant)) continue;
    const jobs = extent.textJobs[concurrency === 1 ? 0 : 1];
    const run = (source?: string) =>
      closedLoop(jobs, concurrency, (n) => text(entry, n, source));
    const one = await run("local");
    const two = await run();
    add({
      pair: variant.pair,
      routing: variant.routing,
      work: "text",
      concurrency,
      jobs,
      ...ratioOf(one.elapsedMs, two.elapsedMs),
      bound: boundOf(jobs, concurrency, variant.speed),
      oneTtftMs: median(one.results.map(({ ttftMs }) => ttftMs)),
      twoTtftMs: median(two.results.map(({ ttftMs }) => ttftMs)),
      oneTotalMs: median(one.results.map(({ actualMs }) => actualMs)),
      twoTotalMs: median(two.results.map(({ actualMs }) => actualMs)),
    });
  }
  for (const concurrency of extent.embeddingsAt) {
    if (!wants("embeddings", concurrency, variant)) continue;
    const jobs = Math.max(extent.embeddingJobs, concurrency);
    const run = (source?: string) =>
      closedLoop(jobs, concurrency, (n) => embeddings(entry, n, source));
    const one = await run("local");
    const two = await run();
    add({
      pair: variant.pair,
      routing: variant.routing,
      work: "embeddings",
      concurrency,
      jobs,
      ...ratioOf(one.elapsedMs, two.elapsedMs),
      bound: 1 + variant.speed,
      oneTtftMs: null,
      twoTtftMs: null,
      oneTotalMs: median(one.results),
      twoTotalMs: median(two.results),
    });
  }
  return found;
}

async function start(
  folder: string,
  name: string,
  secret: string,
  speed: number,
  { routing }: Variant,
): Promise<NodeProcess> {
  const usual = {
    loadMs: 0,
    prefillTokensPerSecond: extent.prefillPerSecond * speed,
    decodeTokensPerSecond: extent.decodePerSecond * speed,
    batchSlowdown: 0.3,
    noise: 0,
    slots: 1,
    contextLength: 8192,
  };
  return await startNode({
    name,
    dataDir: join(folder, name),
    config: {
      engines: [{
        kind: "simulated",
        id: "sim",
        models: [
          { id: "sim-text", capability: "chat", ...usual },
          { id: "sim-embed", capability: "embedding", ...usual },
        ],
      }],
    },
    env: {
      COVEY_CLUSTER_SECRET: secret,
      COVEY_LINK_HOST: "127.0.0.1",
      COVEY_LINK_PORT: "0",
      COVEY_MDNS_INTERFACES: "127.0.0.1",
      COVEY_PORT: "0",
      COVEY_ROUTING: routing,
      COVEY_UPSTREAMS: "off",
    },
  });
}

function text(entry: NodeProcess, n: number, source: string | undefined) {
  return streamChat(entry.url, {
    model: "sim-text",
    text: `Request ${n}`,
    maxTokens: TOKENS,
    ...(source === undefined ? {} : { source }),
  });
}

function embeddings(
  entry: NodeProcess,
  n: number,
  source: string | undefined,
): Promise<number> {
  return embed(entry.url, {
    model: "sim-embed",
    inputs: Array.from(
      { length: INPUTS },
      (_, at) => `Sentence ${at} of request ${n}, about as long as they are.`,
    ),
    ...(source === undefined ? {} : { source }),
  });
}

function ratioOf(oneMs: number, twoMs: number) {
  return { oneMs, twoMs, ratio: oneMs / twoMs };
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}

function percent(share: number): string {
  return (100 * share).toFixed(1);
}
