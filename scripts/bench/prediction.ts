/**
 * Predicted against actual time: one node answers with a simulated engine
 * (noise 10 %) and with the embedded one on covey-tiny (one thread). After
 * warming up by 50 answers a model, the median of |predicted − actual| ÷ actual
 * for TTFT, and for the total with its decode re-priced at the actual count.
 *
 * Run: deno task bench:prediction [--requests N] [--warm-up N]
 *
 * @module
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { DecisionRecord } from "../../src/domain/mod.ts";
import { writeCoveyTiny } from "../fixtures/covey_tiny.ts";
import { streamChat } from "../lab/chat.ts";
import { type NodeProcess, startNode } from "../lab/node_process.ts";

/** Errors of one engine, as shares. */
interface Errors {
  readonly engine: string;
  readonly requests: number;
  readonly ttft: number;
  readonly total: number;
  /** Figure to reach for both. */
  readonly reach: number;
}

const PROMPT_WORDS = [20, 60, 120, 240];
const OUTPUT_TOKENS = [24, 48, 96];
const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "50" },
    "warm-up": { type: "string", default: "50" },
  },
});
const requests = Number(values.requests);
const warmUp = Number(values["warm-up"]);

const folder = await Deno.makeTempDir({ prefix: "covey-bench-" });
await using stack = new AsyncDisposableStack();
stack.defer(() => Deno.remove(folder, { recursive: true }));
const models = join(folder, "models");
await writeCoveyTiny(models);
const node = stack.use(
  await startNode({
    name: "only",
    dataDir: join(folder, "data"),
    config: {
      engines: [{
        kind: "simulated",
        id: "sim",
        models: [{
          id: "sim",
          capability: "chat",
          loadMs: 0,
          prefillTokensPerSecond: 3000,
          decodeTokensPerSecond: 400,
          batchSlowdown: 0.3,
          noise: 0.1,
          slots: 1,
          contextLength: 8192,
        }],
      }],
    },
    env: {
      COVEY_ENGINE_THREADS: "1",
      COVEY_MODELS_DIR: models,
      COVEY_PORT: "0",
      COVEY_UPSTREAMS: "off",
    },
  }),
);

const found = [
  await measure(node, "simulated, noise 10 %", "sim", 0.1),
  await measure(node, "embedded, covey-tiny, 1 thread", "covey-tiny", 0.2),
];
// deno-lint-ignore no-console
console.table(found.map(({ engine, requests, ttft, total, reach }) => ({
  engine,
  requests,
  "TTFT %": (100 * ttft).toFixed(1),
  "total re-priced %": (100 * total).toFixed(1),
  "reach %": 100 * reach,
})));
// deno-lint-ignore no-console
console.log(JSON.stringify({ bench: "prediction", found }));

async function measure(
  node: NodeProcess,
  engine: string,
  model: string,
  reach: number,
): Promise<Errors> {
  const ttft: number[] = [];
  const total: number[] = [];
  for (let n = 0; n < warmUp + requests; n++) {
    const words = PROMPT_WORDS[n % PROMPT_WORDS.length] ?? 20;
    const answer = await streamChat(node.url, {
      model,
      text: Array.from({ length: words }, (_, at) => `w${n}x${at}`).join(" "),
      maxTokens: OUTPUT_TOKENS[n % OUTPUT_TOKENS.length] ?? 48,
    });
    if (n < warmUp) continue;
    const record = await decision(node, answer.decision);
    const chosen = record.candidates.find((one) =>
      one.engine === record.chosen?.engine && one.model === record.chosen.model
    );
    const { actual } = record;
    if (chosen === undefined || actual === null || actual.ttftMs === null) {
      throw new Error(`Decision ${answer.decision} is not whole`);
    }
    const { terms, factor, estimateMs } = chosen;
    const tokenMs = terms.decodeMs * factor / record.expectedOutputTokens;
    const beforeTokens = estimateMs - terms.decodeMs * factor;
    ttft.push(off(beforeTokens + tokenMs, actual.ttftMs));
    total.push(
      off(beforeTokens + tokenMs * actual.outputTokens, actual.totalMs),
    );
  }
  return { engine, requests, ttft: median(ttft), total: median(total), reach };
}

/** The record is complete a moment after the client has the last byte. */
async function decision(
  node: NodeProcess,
  id: string,
): Promise<DecisionRecord> {
  for (let attempt = 0; attempt < 20; attempt++) {
    const response = await fetch(`${node.url}/covey/decisions/${id}`);
    const record = await response.json();
    if (response.ok && record.actual !== null) return record;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`Decision ${id} did not end`);
}

function off(predictedMs: number, actualMs: number): number {
  return Math.abs(predictedMs - actualMs) / actualMs;
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}
