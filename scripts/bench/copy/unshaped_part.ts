import { join } from "node:path";
import { membersSeen } from "../../lab/members.ts";
import { startNode } from "../../lab/node_process.ts";
import { endOf } from "../../lab/lan/run_program.ts";
import { touchMemory, writeBigModel } from "./big_model.ts";
import { beside, type Figure, goal } from "./figure.ts";
import {
  beginCopy,
  postHere,
  untilCopied,
  untilDigested,
} from "./node_calls.ts";
import { costOf, machineCpuSeconds, MemoryWatch } from "./process_cost.ts";

const MODEL = "big";
const LEAST_MEGABYTES_PER_SECOND = 300;
const MOST_GROWTH_MIB = 40;
/** In which nodes come to rest after they have met. */
const SETTLE_MS = 4000;

/**
 * One copy between two nodes over loopback.
 *
 * @param folder Where the nodes' data may lie.
 */
export async function unshapedPart(
  folder: string,
  sizeBytes: number,
): Promise<readonly Figure[]> {
  await using stack = new AsyncDisposableStack();
  const secret = crypto.getRandomValues(new Uint8Array(20)).toHex();
  const start = async (name: string) =>
    stack.use(
      await startNode({
        name,
        dataDir: join(folder, name),
        env: {
          COVEY_CLUSTER_SECRET: secret,
          COVEY_LINK_HOST: "127.0.0.1",
          COVEY_LINK_PORT: "0",
          COVEY_MDNS_INTERFACES: "127.0.0.1",
          COVEY_PORT: "0",
        },
      }),
    );
  const source = await writeBigModel(
    join(folder, "sender", "models"),
    MODEL,
    sizeBytes,
  );
  const sender = await start("sender");
  const receiver = await start("receiver");
  await membersSeen([sender.url, receiver.url], 2, 30_000);
  await untilDigested(sender, MODEL, postHere);
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));

  const ends = [sender, receiver];
  const newPages = await touchMemory(folder, sizeBytes * 1.2);
  const before = await Promise.all(ends.map(({ pid }) => costOf(pid)));
  const watches = ends.map(({ pid }) => stack.use(new MemoryWatch(pid)));
  const machineBefore = await machineCpuSeconds();
  const startedMs = await beginCopy(sender, MODEL, ["receiver"], postHere);
  const tookMs = await untilCopied(receiver, MODEL) - startedMs;
  const machine = await machineCpuSeconds() - machineBefore;
  const after = await Promise.all(ends.map(({ pid }) => costOf(pid)));
  const copied = join(folder, "receiver", "models", MODEL, `${MODEL}.gguf`);
  const { code } = await endOf(["cmp", source, copied]);
  if (code !== 0) throw new Error("The copy is not what was copied");

  const cost = (at: number) =>
    ((after[at]?.cpuSeconds ?? 0) - (before[at]?.cpuSeconds ?? 0)) * 1000 /
    (sizeBytes / 1e6);
  const spent = ends.reduce(
    (sum, _end, at) => sum + cost(at) * sizeBytes / 1e9,
    0,
  );
  const growth = (at: number) =>
    Math.max(0, (watches[at]?.peakMiB ?? 0) - (before[at]?.residentMiB ?? 0));
  const most = { most: MOST_GROWTH_MIB };
  return [
    goal("unshaped, loopback", sizeBytes / 1000 / tookMs, "MB/s", {
      least: LEAST_MEGABYTES_PER_SECOND,
    }),
    goal("unshaped, RSS growth of the sender", growth(0), "MiB", most),
    goal("unshaped, RSS growth of the receiver", growth(1), "MiB", most),
    beside("unshaped, processor time of the sender", cost(0), "ms/MB"),
    beside("unshaped, processor time of the receiver", cost(1), "ms/MB"),
    beside("new file of this machine, memory untouched", newPages, "MB/s"),
    beside(
      "cores that did other things meanwhile",
      Math.max(0, machine - spent) * 1000 / tookMs,
      "",
    ),
  ];
}
