/**
 * What Covey adds to a request: the same simulated engine is asked behind a
 * bare HTTP server, through a node that has it, and through a node whose peer
 * has it, in turn, on warm connections.
 *
 * Run: deno task bench:overhead [--requests N]
 *
 * @module
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { membersSeen } from "../lab/members.ts";
import { type NodeProcess, startNode } from "../lab/node_process.ts";

/** Figures of one way to the engine, in milliseconds. */
interface Way {
  readonly way: string;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const WARM_UP = 100;
const MODEL = {
  id: "sim",
  capability: "chat",
  loadMs: 0,
  prefillTokensPerSecond: 1e6,
  decodeTokensPerSecond: 1e4,
  batchSlowdown: 0,
  noise: 0,
  slots: 4,
  contextLength: 8192,
};
const { values } = parseArgs({
  options: { requests: { type: "string", default: "600" } },
});
const requests = Number(values.requests);

const folder = await Deno.makeTempDir({ prefix: "covey-bench-" });
await using stack = new AsyncDisposableStack();
stack.defer(() => Deno.remove(folder, { recursive: true }));
const secret = crypto.getRandomValues(new Uint8Array(20)).toHex();
const bare = await startBare();
stack.defer(() => bare.end());
const first = stack.use(await start("first"));
const second = stack.use(await start("second"));
await membersSeen([first.url, second.url], 2, 15_000);

const ways = [
  { way: "bare server", url: bare.url, source: null },
  { way: "entry node's own engine", url: first.url, source: "local" },
  { way: "member's engine", url: first.url, source: "node:second" },
];
const samples = ways.map((): number[] => []);
for (let round = 0; round < WARM_UP + requests; round++) {
  for (const [at, { url, source }] of ways.entries()) {
    const tookMs = await ask(url, source);
    if (round >= WARM_UP) samples[at]?.push(tookMs);
  }
}
const results = ways.map(({ way }, at): Way => {
  const sorted = (samples[at] ?? []).toSorted((a, b) => a - b);
  const share = (of: number) => sorted[Math.floor(of * sorted.length)] ?? NaN;
  return { way, p50Ms: share(0.5), p99Ms: share(0.99) };
});
const [base, own, member] = results;
// deno-lint-ignore no-console
console.table(results);
// deno-lint-ignore no-console
console.log(JSON.stringify({
  bench: "overhead",
  requests,
  results,
  addedByEntry: difference(own, base),
  addedByHop: difference(member, own),
}));

function difference(one: Way | undefined, other: Way | undefined) {
  return {
    p50Ms: (one?.p50Ms ?? NaN) - (other?.p50Ms ?? NaN),
    p99Ms: (one?.p99Ms ?? NaN) - (other?.p99Ms ?? NaN),
  };
}

async function ask(url: string, source: string | null): Promise<number> {
  const startedMs = performance.now();
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(source === null ? {} : { "x-covey-source": source }),
    },
    body: JSON.stringify({
      model: MODEL.id,
      messages: [{ role: "user", content: "Say one word" }],
      max_tokens: 1,
    }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answered: ${text}`);
  return performance.now() - startedMs;
}

function engineConfig() {
  return { kind: "simulated", id: "sim", models: [MODEL] };
}

async function start(name: string): Promise<NodeProcess> {
  return await startNode({
    name,
    dataDir: join(folder, name),
    config: { engines: [engineConfig()] },
    env: {
      COVEY_CLUSTER_SECRET: secret,
      COVEY_LINK_HOST: "127.0.0.1",
      COVEY_LINK_PORT: "0",
      COVEY_MDNS_INTERFACES: "127.0.0.1",
      COVEY_PORT: "0",
      COVEY_UPSTREAMS: "off",
    },
  });
}

async function startBare() {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-prompt",
      "-A",
      join(import.meta.dirname ?? ".", "../lab/bare_engine.ts"),
      JSON.stringify(engineConfig()),
    ],
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let said = "";
  while (!said.includes("\n")) {
    const { value, done } = await reader.read();
    if (done) throw new Error("The bare engine ended before it was ready");
    said += value;
  }
  return {
    url: said.trim(),
    end: async () => {
      child.kill("SIGTERM");
      await reader.cancel();
      await child.status;
    },
  };
}
