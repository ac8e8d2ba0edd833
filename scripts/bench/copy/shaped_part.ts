import { basename, join } from "node:path";
import {
  areHealthy,
  type LanNode,
  membersBecome,
  startLanNode,
} from "../../lab/lan/lan_node.ts";
import { endOf } from "../../lab/lan/run_program.ts";
import { TestLan } from "../../lab/lan/test_lan.ts";
import { issueForTest } from "../../lab/licensed.ts";
import { touchMemory, writeBigModel } from "./big_model.ts";
import { beside, type Figure, goal } from "./figure.ts";
import {
  beginCopy,
  postFrom,
  untilCopied,
  untilDigested,
} from "./node_calls.ts";
import { curlMs, rsyncMs } from "./other_tools.ts";

/** Of 1,514 bytes of a full frame, those that are the caller's. */
const PAYLOAD_SHARE = 1448 / 1514;
const LEAST_SHARE = 0.95;
const MOST_OF_ONE = 1.3;

/** What a shaped part needs. */
export interface ShapedOptions {
  /** Where data may lie. */
  readonly folder: string;
  readonly sizeBytes: number;
  readonly megabitsPerSecond: number;
}

/** Why the parts in namespaces can not run here; null when they can. */
export async function whyNoNamespaces(): Promise<string | null> {
  if (Deno.build.os !== "linux" || Deno.uid() !== 0) {
    return "they need root on Linux";
  }
  const lacking: string[] = [];
  for (
    const [program, name] of [
      ["ip", "iproute2"],
      ["curl", "curl"],
      ["rsync", "rsync"],
    ] as const
  ) {
    const { code } = await endOf(["sh", "-c", `command -v ${program}`]);
    if (code !== 0) lacking.push(name);
  }
  return lacking.length === 0
    ? null
    : `they need apt-get install ${lacking.join(" ")}`;
}

/** One copy over a shaped link, and curl and rsync beside it. */
export async function shapedPairPart(
  options: ShapedOptions,
): Promise<readonly Figure[]> {
  await using stack = new AsyncDisposableStack();
  const { folder, megabitsPerSecond, sizeBytes } = options;
  const { lan, nodes, paths: [path = ""] } = await raise(stack, options, 2, [
    "big",
  ]);
  const [sender, receiver] = nodes as [LanNode, LanNode];
  await touchMemory(folder, sizeBytes * 1.2);
  const tookMs = await copyMs(sender, [receiver], path);
  const other = { from: lan.host(1), to: lan.host(2), path, folder };
  const curl = await curlMs(other);
  const rsync = await rsyncMs(other);
  const rate = (ms: number) => sizeBytes / 1000 / ms;
  const link = megabitsPerSecond / 8;
  const name = `${megabitsPerSecond} Mbit/s`;
  return [
    goal(
      `${name}, share of what its frames carry`,
      rate(tookMs) / (link * PAYLOAD_SHARE),
      "",
      { least: LEAST_SHARE },
    ),
    beside(`${name}, copy`, rate(tookMs), "MB/s"),
    beside(`${name}, curl over plain HTTP`, rate(curl), "MB/s"),
    beside(`${name}, rsync`, rate(rsync), "MB/s"),
    beside(`${name}, copy against curl`, curl / tookMs, "×"),
  ];
}

/** One receiver, then three at once, of one source. */
export async function shapedTrioPart(
  options: ShapedOptions,
): Promise<readonly Figure[]> {
  await using stack = new AsyncDisposableStack();
  const { nodes, paths: [first = "", second = ""] } = await raise(
    stack,
    options,
    4,
    ["first", "second"],
  );
  const [sender, ...receivers] = nodes as [LanNode, ...LanNode[]];
  const name = `${options.megabitsPerSecond} Mbit/s`;
  await touchMemory(options.folder, options.sizeBytes * 1.2);
  const oneMs = await copyMs(sender, receivers.slice(0, 1), first);
  await touchMemory(options.folder, options.sizeBytes * 3.2);
  const before = await sentBytes(sender);
  const threeMs = await copyMs(sender, receivers, second);
  const sent = await sentBytes(sender) - before;
  return [
    goal(
      `${name}, last of three receivers against one alone`,
      threeMs / oneMs,
      "",
      { most: MOST_OF_ONE },
    ),
    beside(`${name}, one receiver of four members`, oneMs / 1000, "s"),
    beside(`${name}, last of three receivers`, threeMs / 1000, "s"),
    beside(
      `${name}, models' worth that the source sent to three`,
      sent / options.sizeBytes,
      "×",
    ),
  ];
}

async function raise(
  stack: AsyncDisposableStack,
  { folder, megabitsPerSecond, sizeBytes }: ShapedOptions,
  count: number,
  models: readonly string[],
) {
  const lan = stack.use(await TestLan.open(count));
  const { command, env, licence } = await issueForTest(folder, "unlimited");
  const place = join(folder, "host-1", "models");
  const paths: string[] = [];
  for (const model of models) {
    paths.push(await writeBigModel(place, model, sizeBytes));
  }
  const nodes: LanNode[] = await Promise.all(lan.hosts.map(async (host) => {
    await host.shape(`${megabitsPerSecond}mbit`);
    return stack.use(
      await startLanNode(host, {
        folder,
        program: command,
        env: { ...env, COVEY_LICENCE: licence },
      }),
    );
  }));
  await membersBecome("the cluster forms", nodes, areHealthy(count), 60_000);
  for (const model of models) {
    const { host, process } = nodes[0] as LanNode;
    await untilDigested(process, model, postFrom(host));
  }
  return { lan, nodes, paths };
}

async function copyMs(
  sender: LanNode,
  receivers: readonly LanNode[],
  path: string,
): Promise<number> {
  const model = basename(path, ".gguf");
  const startedMs = await beginCopy(
    sender.process,
    model,
    receivers.map(({ process }) => process.name),
    postFrom(sender.host),
  );
  const ends = await Promise.all(
    receivers.map(({ process }) => untilCopied(process, model)),
  );
  for (const { dataDir } of receivers) {
    const copied = join(dataDir, "models", model, `${model}.gguf`);
    const { code } = await endOf(["cmp", path, copied]);
    if (code !== 0) throw new Error("A copy is not what was copied");
  }
  return Math.max(...ends) - startedMs;
}

async function sentBytes({ host }: LanNode): Promise<number> {
  const statistics = "/sys/class/net/e0/statistics/tx_bytes";
  return Number(await host.run("cat", statistics));
}
