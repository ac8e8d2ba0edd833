/**
 * What stands between a client and its engine costs: one fast engine asked
 * directly, through Covey alone, through two of its members, through nginx, and
 * through a gateway from npm, in one run. Added latency is measured one request
 * at a time, the ways in turn; processor time is that of the processes in the
 * middle. Then many streams at once. Linux; npm and node for the gateway.
 *
 * Run: deno task bench:gateways [--requests N] [--streams N] [--quick] [--json FILE]
 * [--cache FOLDER for the gateway's package]
 *
 * @module
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startFastEngine } from "../lab/start_fast_engine.ts";
import { coveyAlone, coveyMembers } from "./gateways/covey.ts";
import {
  latencies,
  saturate,
  type Saturation,
  streamAtOnce,
  type Streams,
} from "./gateways/measure.ts";
import { nginxWay } from "./gateways/nginx.ts";
import { portkeyWay } from "./gateways/portkey.ts";
import type { Way } from "./gateways/way.ts";

/** The most that an entry node may add, in milliseconds at the median. */
const MOST_ADDED_MS = 0.5;
/** The most that one member more may add. */
const MOST_HOP_MS = 1.5;
const CONNECTIONS = 32;
/** Between two tokens of a stream, so that each goes by itself. */
const GAP_MS = 20;
const PACED_STREAMS = 50;
const PACED_TOKENS = 100;
const MANY_TOKENS = 50;

interface Row {
  readonly way: string;
  readonly addedP50Ms: number;
  readonly addedP99Ms: number;
  readonly saturation: Saturation;
  readonly paced: Streams | null;
}

const { values } = parseArgs({
  options: {
    requests: { type: "string" },
    streams: { type: "string", default: "1000" },
    quick: { type: "boolean", default: false },
    json: { type: "string" },
    cache: { type: "string" },
  },
});
const requests = Number(values.requests ?? (values.quick ? "300" : "1500"));
const loadMs = values.quick ? 1500 : 5000;
const many = Number(values.streams);

const folder = await Deno.makeTempDir({ prefix: "covey-bench-" });
await using stack = new AsyncDisposableStack();
stack.defer(() => Deno.remove(folder, { recursive: true }));

const engine = stack.use(await startFastEngine(GAP_MS));
const direct: Way = {
  name: "direct",
  url: engine.said,
  headers: {},
  pids: [engine.pid],
  streams: true,
};
const one = await coveyAlone(stack, engine.said, folder);
const two = await coveyMembers(stack, engine.said, folder);
const missing: string[] = [];
const ways: Way[] = [direct, one, two];
for (
  const other of [
    await nginxWay(stack, engine.said, folder),
    await portkeyWay(
      stack,
      engine.said,
      values.cache ?? join(folder, "portkey"),
    ),
  ]
) {
  if (typeof other === "string") missing.push(other);
  else ways.push(other);
}

const measured = await latencies(ways, requests);
const base = measured[0];
const rows: Row[] = [];
for (const [at, way] of ways.entries()) {
  // What is compiled on the way is none of its cost.
  await saturate(way, CONNECTIONS, loadMs / 3);
  rows.push({
    way: way.name,
    addedP50Ms: (measured[at]?.p50Ms ?? NaN) - (base?.p50Ms ?? NaN),
    addedP99Ms: (measured[at]?.p99Ms ?? NaN) - (base?.p99Ms ?? NaN),
    saturation: await saturate(way, CONNECTIONS, loadMs),
    paced: way.streams
      ? await streamAtOnce(way, PACED_STREAMS, PACED_TOKENS)
      : null,
  });
}
const crowds = [
  { way: one.name, ...await streamAtOnce(one, many, MANY_TOKENS) },
  {
    way: two.name,
    ...await streamAtOnce(two, Math.ceil(many / 5), MANY_TOKENS),
  },
];

const rowOf = (name: string) => rows.find(({ way }) => way === name);
const covey = rowOf(one.name);
const members = rowOf(two.name);
const nginx = rowOf("nginx");
const portkey = rowOf("@portkey-ai/gateway");
const verdicts = [
  verdict(
    `entry node adds ${ms(covey?.addedP50Ms)} at the median (at most 0.5)`,
    covey && covey.addedP50Ms <= MOST_ADDED_MS,
  ),
  verdict(
    `a member hop adds ${
      ms((members?.addedP50Ms ?? NaN) - (covey?.addedP50Ms ?? NaN))
    } (at most 1.5)`,
    covey && members && members.addedP50Ms - covey.addedP50Ms <= MOST_HOP_MS,
  ),
  verdict(
    `twice as fast as the gateway: ${ms(covey?.addedP50Ms)} and ${
      ms(portkey?.addedP50Ms)
    } added`,
    covey && portkey && covey.addedP50Ms * 2 <= portkey.addedP50Ms,
  ),
  verdict(
    `at most three times nginx: ${ms(covey?.addedP50Ms)} and ${
      ms(nginx?.addedP50Ms)
    } added`,
    covey && nginx && covey.addedP50Ms <= 3 * nginx.addedP50Ms,
  ),
  ...crowds.map(({ way, streams, errors, firstError }) =>
    verdict(
      `${way}: ${streams} streams at once, ${errors} errors${
        firstError === null ? "" : ` (${firstError})`
      }`,
      errors === 0,
    )
  ),
];

// deno-lint-ignore no-console
console.table(
  rows.map(({ way, addedP50Ms, addedP99Ms, saturation, paced }) => ({
    way,
    "added P50 ms": round(addedP50Ms, 3),
    "added P99 ms": round(addedP99Ms, 2),
    "answers/s": round(saturation.perSecond, 0),
    "CPU us/answer": round(saturation.cpuUs, 0),
    "CPU us/token": paced === null ? "-" : round(paced.cpuUsPerToken, 1),
    "RSS MiB": round(saturation.residentMiB, 0),
  })),
);
// deno-lint-ignore no-console
console.table(crowds.map((crowd) => ({
  way: crowd.way,
  streams: crowd.streams,
  errors: crowd.errors,
  "took s": round(crowd.tookMs / 1000, 1),
  "CPU us/token": round(crowd.cpuUsPerToken, 1),
  "RSS MiB": round(crowd.residentMiB, 0),
})));
// deno-lint-ignore no-console
for (const line of [...verdicts, ...missing]) console.log(line);
if (values.json !== undefined) {
  await Deno.writeTextFile(
    values.json,
    JSON.stringify({ bench: "gateways", requests, rows, crowds, verdicts }),
  );
}

function verdict(what: string, isMet: boolean | undefined): string {
  return `${
    isMet === undefined ? "not measured" : isMet ? "met" : "missed"
  }: ${what}`;
}

function ms(value: number | undefined): string {
  return value === undefined || Number.isNaN(value)
    ? "nothing known"
    : `${round(value, 2)} ms`;
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
