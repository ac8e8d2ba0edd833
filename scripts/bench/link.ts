/**
 * What a member hop costs, and what a clustered node takes at rest: two real
 * nodes on this machine, over the real link.
 *
 * @module
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { streamChat } from "../lab/chat.ts";
import { INSTANT_ENGINE } from "../lab/instant_engine.ts";
import { membersSeen } from "../lab/members.ts";
import { type NodeProcess, startNode } from "../lab/node_process.ts";

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "200" },
    "idle-seconds": { type: "string", default: "60" },
  },
});
const requests = Number(values.requests);
const idleSeconds = Number(values["idle-seconds"]);

const folder = await Deno.makeTempDir({ prefix: "covey-bench-" });
await using stack = new AsyncDisposableStack();
stack.defer(() => Deno.remove(folder, { recursive: true }));
const secret = crypto.getRandomValues(new Uint8Array(20)).toHex();

async function start(name: string): Promise<NodeProcess> {
  return await startNode({
    name,
    dataDir: join(folder, name),
    config: INSTANT_ENGINE,
    env: {
      COVEY_CLUSTER_SECRET: secret,
      COVEY_LINK_HOST: "127.0.0.1",
      COVEY_LINK_PORT: "0",
      COVEY_MDNS_INTERFACES: "127.0.0.1",
      COVEY_PORT: "0",
    },
  });
}

/** Processor time that a process has had, in seconds (Linux counts in 1/100). */
async function cpuSeconds(pid: number): Promise<number> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function residentMiB(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

async function latencies(url: string, source: string): Promise<number[]> {
  const taken: number[] = [];
  for (let n = 0; n < requests; n++) {
    const { actualMs } = await streamChat(url, {
      model: "sim",
      text: "hello",
      maxTokens: 1,
      source,
    });
    taken.push(actualMs);
  }
  return taken.sort((a, b) => a - b);
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.floor((sorted.length - 1) * share)] ?? NaN;
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

// The first start makes the identities and compiles; the second is an ordinary one.
for (const name of ["first", "second"]) {
  await (await start(name))[Symbol.asyncDispose]();
}
const nodes = [
  stack.use(await start("first")),
  stack.use(await start("second")),
] as const;
const formedMs = await membersSeen(nodes.map(({ url }) => url), 2, 15_000);

const before = await Promise.all(nodes.map(({ pid }) => cpuSeconds(pid)));
await new Promise((resolve) => setTimeout(resolve, idleSeconds * 1000));
const after = await Promise.all(nodes.map(({ pid }) => cpuSeconds(pid)));
const idlePercent = after.map((end, index) =>
  round((end - (before[index] ?? 0)) / idleSeconds * 100, 2)
);
const idleMiB = await Promise.all(
  nodes.map(async ({ pid }) => round(await residentMiB(pid), 1)),
);

const [entry] = nodes;
await latencies(entry.url, "node:second");
const local = await latencies(entry.url, "local");
const remote = await latencies(entry.url, "node:second");
const figures = {
  formedMs: Math.round(formedMs),
  idleMiB,
  idlePercent,
  localP50Ms: round(percentile(local, 0.5), 2),
  remoteP50Ms: round(percentile(remote, 0.5), 2),
  overheadP50Ms: round(percentile(remote, 0.5) - percentile(local, 0.5), 2),
  overheadP95Ms: round(percentile(remote, 0.95) - percentile(local, 0.95), 2),
};
// deno-lint-ignore no-console
console.log(JSON.stringify(figures, null, 1));
