import { join } from "node:path";
import { writeCoveySmall } from "../../fixtures/covey_tiny.ts";
import { type ChatResult, closedLoop, streamChat } from "../../lab/chat.ts";
import { cancelCopy, newestCopy } from "../../lab/copies.ts";
import { membersSeen } from "../../lab/members.ts";
import { type NodeProcess, startNode } from "../../lab/node_process.ts";
import { writeBigModel } from "./big_model.ts";
import { beside, type Figure, goal } from "./figure.ts";
import { beginCopy, postHere, untilDigested } from "./node_calls.ts";

const MODEL = "big";
const CHAT_MODEL = "covey-small";
const TOKENS = 48;
/** Chats in a row; with a copy and without take turns, so that a machine that warms spoils neither. */
const IN_A_ROW = 10;
const MOST_RATIO = 1.2;

/**
 * Chats of llama.cpp at either end of a copy, against the same chats with no
 * copy.
 *
 * @param folder Where the nodes' data may lie.
 * @param rounds How often each is measured.
 */
export async function chatPart(
  folder: string,
  sizeBytes: number,
  rounds: number,
): Promise<readonly Figure[]> {
  await using stack = new AsyncDisposableStack();
  const secret = crypto.getRandomValues(new Uint8Array(20)).toHex();
  const start = async (name: string) => {
    await writeCoveySmall(join(folder, name, "models"));
    return stack.use(
      await startNode({
        name,
        dataDir: join(folder, name),
        env: {
          COVEY_CLUSTER_SECRET: secret,
          COVEY_ENGINE_THREADS: "1",
          COVEY_LINK_HOST: "127.0.0.1",
          COVEY_LINK_PORT: "0",
          COVEY_MDNS_INTERFACES: "127.0.0.1",
          COVEY_PORT: "0",
        },
      }),
    );
  };
  await writeBigModel(join(folder, "sender", "models"), MODEL, sizeBytes);
  const sender = await start("sender");
  const receiver = await start("receiver");
  await membersSeen([sender.url, receiver.url], 2, 30_000);
  await untilDigested(sender, MODEL, postHere);
  const figures: Figure[] = [];
  for (
    const [name, node] of [["sender", sender], ["receiver", receiver]] as const
  ) {
    figures.push(...await compare(name, node, { sender, receiver, rounds }));
  }
  return figures;
}

async function compare(
  name: string,
  node: NodeProcess,
  { receiver, rounds, sender }: {
    readonly sender: NodeProcess;
    readonly receiver: NodeProcess;
    readonly rounds: number;
  },
): Promise<readonly Figure[]> {
  // The first one loads the model.
  await chats(node, 3);
  const without: number[] = [];
  const during: number[] = [];
  let copiedBytes = 0;
  let copyingMs = 0;
  for (let round = 0; round < rounds; round++) {
    without.push(...await chats(node, IN_A_ROW));
    const startedMs = await beginCopy(sender, MODEL, ["receiver"], postHere);
    during.push(...await chats(node, IN_A_ROW));
    const copy = await newestCopy(receiver.url);
    if (copy?.state !== "copying") {
      throw new Error(`The copy did not last: ${JSON.stringify(copy)}`);
    }
    copiedBytes += copy.doneBytes;
    copyingMs += performance.now() - startedMs;
    await cancelCopy(receiver.url, copy.id);
  }
  const p95 = (list: readonly number[]) => percentile(list, 0.95);
  return [
    goal(
      `chats at the ${name}, P95 during a copy against without`,
      p95(during) / p95(without),
      "",
      { most: MOST_RATIO },
    ),
    beside(
      `chats at the ${name}, median during a copy against without`,
      percentile(during, 0.5) / percentile(without, 0.5),
      "",
    ),
    beside(`chats at the ${name}, P95 without`, p95(without), "ms"),
    beside(
      `chats at the ${name}, what the copy did meanwhile`,
      copiedBytes / 1000 / copyingMs,
      "MB/s",
    ),
  ];
}

async function chats(
  { url }: NodeProcess,
  count: number,
): Promise<readonly number[]> {
  const ask = (n: number): Promise<ChatResult> =>
    streamChat(url, {
      model: CHAT_MODEL,
      text: `Question ${n}`,
      maxTokens: TOKENS,
      source: "local",
    });
  const { results } = await closedLoop(count, 1, ask);
  return results.map(({ actualMs }) => actualMs);
}

function percentile(list: readonly number[], share: number): number {
  const sorted = list.toSorted((a, b) => a - b);
  return sorted[Math.ceil(share * sorted.length) - 1] ?? NaN;
}
