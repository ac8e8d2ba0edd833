/**
 * How fast a model goes from one member to another over loopback, and what it
 * costs in memory at both ends; then once more with the receiver killed on the
 * way. Figures as JSON.
 *
 * @module
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { encodeCoveyTiny } from "../fixtures/covey_tiny.ts";
import { eventually } from "../lab/eventually.ts";
import { type NodeProcess, startNode } from "../lab/node_process.ts";

const { values } = parseArgs({
  options: { megabytes: { type: "string", default: "256" } },
});
const sizeBytes = Number(values.megabytes) * 1024 * 1024;
const PIECE = 65_536;

interface Copy {
  readonly state: string;
  readonly doneBytes: number;
  readonly message: string | null;
}

const folder = await Deno.makeTempDir({ prefix: "covey-bench-copy-" });
await using stack = new AsyncDisposableStack();
stack.defer(() => Deno.remove(folder, { recursive: true }));
const secret = crypto.getRandomValues(new Uint8Array(20)).toHex();

function start(name: string): Promise<NodeProcess> {
  return startNode({
    name,
    dataDir: join(folder, name),
    env: {
      COVEY_CLUSTER_SECRET: secret,
      COVEY_LINK_HOST: "127.0.0.1",
      COVEY_LINK_PORT: "0",
      COVEY_MDNS_INTERFACES: "127.0.0.1",
      COVEY_PORT: "0",
    },
  });
}

/** A sound header, then noise up to the wanted size. */
async function writeModel(path: string): Promise<void> {
  using file = await Deno.open(path, { write: true, create: true });
  const head = encodeCoveyTiny();
  await file.write(head);
  const noise = new Uint8Array(PIECE);
  for (let at = head.length; at < sizeBytes; at += PIECE) {
    crypto.getRandomValues(noise);
    await file.write(noise.subarray(0, Math.min(PIECE, sizeBytes - at)));
  }
}

async function residentMiB(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

/** Processor time that a process has had, in seconds (Linux counts in 1/100). */
async function cpuSeconds(pid: number): Promise<number> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function send(url: string, path: string, body?: unknown) {
  const response = await fetch(`${url}${path}`, {
    method: body === undefined ? "GET" : "POST",
    ...body === undefined ? {} : {
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    },
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(JSON.stringify(answer));
  return answer;
}

async function newest(url: string): Promise<Copy | undefined> {
  return (await send(url, "/cluster/copies")).copies.at(-1);
}

/** Begin, as soon as the weights have been digested. */
async function begin(url: string, bytesPerSecond?: number): Promise<void> {
  await eventually("the copy begins", async () => {
    const answer = await send(url, "/cluster/copies", {
      model: "big",
      to: ["receiver"],
      ...bytesPerSecond === undefined ? {} : { bytesPerSecond },
    }).catch(() => undefined);
    return answer?.copies.length === 1 ? true : undefined;
  }, 30_000);
}

/** Follow a copy to where it is wanted; the most memory that either end took meanwhile. */
async function follow(
  nodes: readonly NodeProcess[],
  until: (copy: Copy) => boolean,
) {
  const startedMs = performance.now();
  const peakMiB = nodes.map(() => 0);
  const [watched] = nodes;
  let looks = 0;
  const copy = await eventually("the copy comes so far", async () => {
    for (const [at, { pid }] of nodes.entries()) {
      peakMiB[at] = Math.max(peakMiB[at] ?? 0, await residentMiB(pid));
    }
    // Asking costs both ends: memory is looked at more often.
    if (++looks % 10 !== 0) return undefined;
    const copy = await newest(watched?.url ?? "");
    if (copy?.state === "failed") throw new Error(copy.message ?? "");
    return copy !== undefined && until(copy) ? copy : undefined;
  }, 60_000);
  return { copy, tookMs: performance.now() - startedMs, peakMiB };
}

const models = join(folder, "sender", "models");
await Deno.mkdir(models, { recursive: true });
await writeModel(join(models, "big.gguf"));
// The first start compiles; the second is an ordinary one.
for (const name of ["sender", "receiver"]) {
  await (await start(name))[Symbol.asyncDispose]();
}
const sender = stack.use(await start("sender"));
const receiver = stack.use(await start("receiver"));

const ends = [receiver, sender];
const before = await Promise.all(ends.map(({ pid }) => residentMiB(pid)));
const cpuBefore = await Promise.all(ends.map(({ pid }) => cpuSeconds(pid)));
await begin(sender.url);
const isDone = ({ state }: Copy) => state === "done";
const { peakMiB, tookMs } = await follow(ends, isDone);
const cpuAfter = await Promise.all(ends.map(({ pid }) => cpuSeconds(pid)));
// What two cores that do nothing else would take: the slower end decides.
const slowest = Math.max(
  ...cpuAfter.map((after, at) => after - (cpuBefore[at] ?? 0)),
);
const growthMiB = peakMiB.map((peak, at) =>
  Math.round(peak - (before[at] ?? 0))
);

await receiver.end("SIGTERM");
await Deno.remove(join(folder, "receiver", "models", "big"), {
  recursive: true,
});
const doomed = stack.use(await start("receiver"));
// Slow enough to be met on the way.
await begin(sender.url, sizeBytes / 4);
const killed = await follow(
  [doomed, sender],
  ({ doneBytes }) => doneBytes > sizeBytes * 0.3,
);
await doomed.end("SIGKILL");
const again = stack.use(await start("receiver"));
const resumed = await follow([again, sender], isDone);
// deno-lint-ignore no-console
console.log(JSON.stringify(
  {
    megabytes: sizeBytes / 1e6,
    megabytesPerSecond: Math.round(sizeBytes / 1000 / tookMs),
    megabytesPerCpuSecond: Math.round(sizeBytes / 1e6 / slowest),
    loadAverage: Deno.loadavg()[0],
    growthMiB: { receiver: growthMiB[0], sender: growthMiB[1] },
    killedAtBytes: killed.copy.doneBytes,
    doneAfterRestart: resumed.copy.doneBytes === sizeBytes,
  },
  null,
  1,
));
