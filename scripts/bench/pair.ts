/**
 * Two nodes against one, in real processes over the real link, on simulated
 * engines of equal speed: the ratio of total times in one run.
 *
 * @module
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { closedLoop, streamChat } from "../lab/chat.ts";
import { membersSeen } from "../lab/members.ts";
import { type NodeProcess, startNode } from "../lab/node_process.ts";

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "8" },
    concurrency: { type: "string", default: "4" },
    tokens: { type: "string", default: "128" },
    rate: { type: "string", default: "100" },
    rounds: { type: "string", default: "3" },
  },
});
const [requests, concurrency, tokens, rate, rounds] = [
  values.requests,
  values.concurrency,
  values.tokens,
  values.rate,
  values.rounds,
].map(Number) as [number, number, number, number, number];

const folder = await Deno.makeTempDir({ prefix: "covey-bench-" });
await using stack = new AsyncDisposableStack();
stack.defer(() => Deno.remove(folder, { recursive: true }));
const secret = crypto.getRandomValues(new Uint8Array(20)).toHex();

async function start(name: string): Promise<NodeProcess> {
  return stack.use(
    await startNode({
      name,
      dataDir: join(folder, name),
      config: {
        engines: [{
          kind: "simulated",
          id: "sim",
          models: [{
            id: "sim",
            capability: "chat",
            loadMs: 0,
            prefillTokensPerSecond: 4000,
            decodeTokensPerSecond: rate,
            batchSlowdown: 0.3,
            noise: 0,
            slots: 1,
            contextLength: 8192,
          }],
        }],
      },
      env: {
        COVEY_CLUSTER_SECRET: secret,
        COVEY_LINK_HOST: "127.0.0.1",
        COVEY_LINK_PORT: "0",
        COVEY_MDNS_INTERFACES: "127.0.0.1",
        COVEY_PORT: "0",
        COVEY_ROUTING: "balanced",
      },
    }),
  );
}

const first = await start("first");
const second = await start("second");
const formedMs = await membersSeen([first.url, second.url], 2, 15_000);

function load(source: string | undefined) {
  return closedLoop(requests, concurrency, (n) =>
    streamChat(first.url, {
      model: "sim",
      text: `Request ${n}`,
      maxTokens: tokens,
      ...(source === undefined ? {} : { source }),
    }));
}

const ratios: number[] = [];
const rows: Record<string, unknown>[] = [];
for (let round = 0; round < rounds; round++) {
  const alone = await load("local");
  const both = await load(undefined);
  const served = new Set(both.results.map(({ servedBy }) => servedBy)).size;
  const ratio = alone.elapsedMs / both.elapsedMs;
  ratios.push(ratio);
  rows.push({
    round: round + 1,
    aloneMs: Math.round(alone.elapsedMs),
    bothMs: Math.round(both.elapsedMs),
    ratio: Number(ratio.toFixed(3)),
    nodesThatServed: served,
  });
}
ratios.sort((a, b) => a - b);
// deno-lint-ignore no-console
console.table(rows);
// deno-lint-ignore no-console
console.log(JSON.stringify({
  requests,
  concurrency,
  tokens,
  formedMs: Math.round(formedMs),
  medianRatio: Number(
    (ratios[Math.floor(ratios.length / 2)] ?? 0).toFixed(3),
  ),
}));
