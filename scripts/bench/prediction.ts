/**
 * Predicted against actual time: one node answers with a simulated engine
 * (noise 10 %) and with the embedded one (one thread) on two models of random
 * weights: covey-small, 39 MB, whose time is arithmetic as that of a real model
 * is, and covey-tiny, 0.5 MB, whose answers take 10 to 200 ms, so that all that
 * surrounds the arithmetic counts. Prompts and answers are of any length within
 * bounds, drawn evenly by the logarithm. After warming up by 50 answers a model:
 * the median of |predicted − actual| ÷ actual for TTFT, and for the total with
 * its decode re-priced at the actual count.
 *
 * Run: deno task bench:prediction [--requests N] [--warm-up N] [--json FILE]
 *
 * @module
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { DecisionRecord } from "../../src/domain/mod.ts";
import { createSeededEntropy } from "../../src/platform/mod.ts";
import { writeCoveySmall, writeCoveyTiny } from "../fixtures/covey_tiny.ts";
import { streamChat } from "../lab/chat.ts";
import { type NodeProcess, startNode } from "../lab/node_process.ts";

/** Something to measure, and the sizes it is measured over. */
interface Subject {
  readonly engine: string;
  readonly model: string;
  readonly words: Range;
  readonly maxTokens: Range;
  /** Figure to reach for both. */
  readonly reach: number;
}

type Range = readonly [least: number, most: number];

/** Errors of one engine, as shares. */
interface Errors {
  readonly engine: string;
  readonly requests: number;
  readonly reach: number;
  readonly ttft: Spread;
  readonly total: Spread;
  /** What it was measured over: tenth and nine tenths. */
  readonly promptTokens: Range;
  readonly outputTokens: Range;
  readonly ttftMs: Range;
  readonly totalMs: Range;
}

interface Spread {
  readonly median: number;
  readonly p90: number;
  /** Median of the error with its sign: above 0 where too much was predicted. */
  readonly bias: number;
}

const SUBJECTS: readonly Subject[] = [{
  engine: "simulated, noise 10 %",
  model: "sim",
  words: [10, 240],
  maxTokens: [16, 128],
  reach: 0.1,
}, {
  engine: "embedded, covey-small (39 MB), 1 thread",
  model: "covey-small",
  words: [5, 100],
  maxTokens: [16, 96],
  reach: 0.2,
}, {
  engine: "embedded, covey-tiny (0.5 MB), 1 thread",
  model: "covey-tiny",
  words: [5, 240],
  maxTokens: [16, 128],
  reach: 0.2,
}];
const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "100" },
    "warm-up": { type: "string", default: "50" },
    json: { type: "string" },
  },
});
const requests = Number(values.requests);
const warmUp = Number(values["warm-up"]);

const folder = await Deno.makeTempDir({ prefix: "covey-bench-" });
await using stack = new AsyncDisposableStack();
stack.defer(() => Deno.remove(folder, { recursive: true }));
const models = join(folder, "models");
await writeCoveyTiny(models);
await writeCoveySmall(models);
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

const found: Errors[] = [];
for (const subject of SUBJECTS) found.push(await measure(node, subject));
// deno-lint-ignore no-console
console.table(found.map((one) => ({
  engine: one.engine,
  requests: one.requests,
  "TTFT off %": percent(one.ttft.median),
  "total off %": percent(one.total.median),
  "reach %": 100 * one.reach,
  reached: [one.ttft, one.total].every(({ median }) => median <= one.reach),
  "P90 off %": `${percent(one.ttft.p90)}, ${percent(one.total.p90)}`,
  "bias %": `${percent(one.ttft.bias)}, ${percent(one.total.bias)}`,
  "prompt tokens": one.promptTokens.join("–"),
  "output tokens": one.outputTokens.join("–"),
  "TTFT ms": one.ttftMs.join("–"),
  "total ms": one.totalMs.join("–"),
})));
const json = JSON.stringify({ bench: "prediction", warmUp, found });
if (values.json !== undefined) await Deno.writeTextFile(values.json, json);
// deno-lint-ignore no-console
console.log(json);

async function measure(node: NodeProcess, subject: Subject): Promise<Errors> {
  const { float } = createSeededEntropy(7);
  const draw = ([least, most]: Range) =>
    Math.round(least * (most / least) ** float());
  const ttft: number[] = [];
  const total: number[] = [];
  const seen: NonNullable<DecisionRecord["actual"]>[] = [];
  for (let n = 0; n < warmUp + requests; n++) {
    const words = draw(subject.words);
    const answer = await streamChat(node.url, {
      model: subject.model,
      text: Array.from({ length: words }, (_, at) => `w${n}x${at}`).join(" "),
      maxTokens: draw(subject.maxTokens),
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
    ttft.push(offBy(beforeTokens + tokenMs, actual.ttftMs));
    total.push(
      offBy(beforeTokens + tokenMs * actual.outputTokens, actual.totalMs),
    );
    seen.push(actual);
  }
  return {
    engine: subject.engine,
    requests,
    reach: subject.reach,
    ttft: spreadOf(ttft),
    total: spreadOf(total),
    promptTokens: rangeOf(seen.map(({ promptTokens }) => promptTokens ?? 0)),
    outputTokens: rangeOf(seen.map(({ outputTokens }) => outputTokens)),
    ttftMs: rangeOf(seen.map(({ ttftMs }) => ttftMs ?? 0)),
    totalMs: rangeOf(seen.map(({ totalMs }) => totalMs)),
  };
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

function offBy(predictedMs: number, actualMs: number): number {
  return (predictedMs - actualMs) / actualMs;
}

function spreadOf(offs: readonly number[]): Spread {
  const errors = offs.map(Math.abs);
  return {
    median: quantile(errors, 0.5),
    p90: quantile(errors, 0.9),
    bias: quantile(offs, 0.5),
  };
}

function rangeOf(numbers: readonly number[]): Range {
  return [
    Math.round(quantile(numbers, 0.1)),
    Math.round(quantile(numbers, 0.9)),
  ];
}

function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length * share)] ?? NaN;
}

function percent(share: number): string {
  return (100 * share).toFixed(1);
}
