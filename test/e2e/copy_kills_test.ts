import assert from "node:assert/strict";
import { join } from "node:path";
import { writeBigModel } from "../../scripts/bench/copy/big_model.ts";
import {
  postHere,
  untilDigested,
} from "../../scripts/bench/copy/node_calls.ts";
import { HAS_CLUSTER } from "../../scripts/lab/cluster_code.ts";
import { newestCopy, orderCopies } from "../../scripts/lab/copies.ts";
import { eventually } from "../../scripts/lab/eventually.ts";
import { newSecret } from "../../scripts/lab/new_secret.ts";
import { type NodeProcess, startNode } from "../../scripts/lab/node_process.ts";

/** How often each end is killed. `COVEY_SERIES=20` for the long series. */
const KILLS = Number(Deno.env.get("COVEY_SERIES") ?? 2);
const MODEL = "big";
const CHUNK_BYTES = 4 * 1024 * 1024;
const CHUNKS = 16;
/** Chunks that a receiver asks one member for at once. */
const IN_FLIGHT = 3;
/** Slow enough that a kill meets any part of it. */
const BYTES_PER_SECOND = 64e6;

type End = "sender" | "receiver";

/** Two nodes that are killed and come back; the sender has the model. */
class Pair implements AsyncDisposable {
  readonly #folder: string;
  readonly #secret = newSecret();
  readonly #nodes = new Map<End, NodeProcess>();
  /** Bytes that senders which are gone have read from files. */
  #readByDead = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  get sender(): NodeProcess {
    return this.#node("sender");
  }

  get receiver(): NodeProcess {
    return this.#node("receiver");
  }

  async start(end: End): Promise<void> {
    this.#nodes.set(
      end,
      await startNode({
        name: end,
        dataDir: join(this.#folder, end),
        env: {
          COVEY_CLUSTER_SECRET: this.#secret,
          COVEY_LINK_HOST: "127.0.0.1",
          COVEY_LINK_PORT: "0",
          COVEY_MDNS_INTERFACES: "127.0.0.1",
          COVEY_PORT: "0",
        },
      }),
    );
    // What it reads to come up is not sent.
    if (end === "sender") this.#readByDead -= await readBytes(this.sender.pid);
  }

  /** Kill an end in the middle of whatever it does, and start it again. */
  async kill(end: End): Promise<void> {
    const { pid } = this.#node(end);
    // It stands still while it is looked at.
    Deno.kill(pid, "SIGSTOP");
    if (end === "sender") this.#readByDead += await readBytes(pid);
    await this.#node(end).end("SIGKILL");
    await this.start(end);
  }

  /** Chunks that senders have read so far, which is before each is sent. */
  async chunksRead(): Promise<number> {
    const bytes = this.#readByDead + await readBytes(this.sender.pid);
    return bytes / CHUNK_BYTES;
  }

  /** Have the receiver without the model again; undefined where it does not list it yet. */
  async forget(): Promise<true | undefined> {
    const path = `${this.receiver.url}/covey/models/${MODEL}`;
    const response = await fetch(path, { method: "DELETE" });
    await response.body?.cancel();
    if (!response.ok) return undefined;
    const copied = join(this.#folder, "receiver", "models", MODEL);
    await Deno.remove(copied, { recursive: true }).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of this.#nodes.values()) await node[Symbol.asyncDispose]();
  }

  #node(end: End): NodeProcess {
    const node = this.#nodes.get(end);
    if (node === undefined) throw new Error(`The ${end} was not started`);
    return node;
  }
}

/** Bytes that a process has read from files; sockets do not count. */
async function readBytes(pid: number): Promise<number> {
  const text = await Deno.readTextFile(`/proc/${pid}/io`);
  return Number(/^rchar: (\d+)$/m.exec(text)?.[1]);
}

/** Copy, kill an end at a random point, and see the copy whole all the same. */
async function copyUnderKill(
  end: End,
  pair: Pair,
  folder: string,
): Promise<void> {
  const at = 0.02 + 0.9 * Math.random();
  const read = await pair.chunksRead();
  await eventually("the copy begins", async () => {
    const order = { model: MODEL, to: ["receiver"] };
    return await orderCopies(pair.sender.url, {
      ...order,
      bytesPerSecond: BYTES_PER_SECOND,
    }).catch(() => undefined);
  });
  await eventually("the copy comes so far", async () => {
    const copy = await newestCopy(pair.receiver.url);
    return (copy?.doneBytes ?? 0) >= at * CHUNKS * CHUNK_BYTES ||
        copy?.state === "done"
      ? true
      : undefined;
  });
  await pair.kill(end);
  const copied = join(folder, "receiver", "models", MODEL, `${MODEL}.gguf`);
  await eventually("the copy is whole", async () => {
    const info = await Deno.stat(copied).catch(() => undefined);
    return info?.isFile;
  });
  const what = `killed ${end} at ${at.toFixed(3)}`;
  const source = join(folder, "sender", "models", `${MODEL}.gguf`);
  const same = await new Deno.Command("cmp", { args: [source, copied] })
    .output();
  assert.equal(same.code, 0, what);
  const more = await pair.chunksRead() - read - CHUNKS;
  // What else a node reads is far less than half a chunk.
  assert.ok(more < IN_FLIGHT + 0.5, `${what}: ${more} chunks were sent again`);
  await eventually("the model is gone", () => pair.forget());
}

Deno.test({
  name:
    "a copy is whole after either end was killed at any point, and what had come is not fetched again" +
    (Deno.build.os === "linux"
      ? ""
      : " (needs Linux: what a process read is in its /proc)"),
  ignore: !HAS_CLUSTER || Deno.build.os !== "linux",
  async fn() {
    await using stack = new AsyncDisposableStack();
    const folder = await Deno.makeTempDir({ prefix: "covey-kills-" });
    stack.defer(() => Deno.remove(folder, { recursive: true }));
    const models = join(folder, "sender", "models");
    await writeBigModel(models, MODEL, CHUNKS * CHUNK_BYTES);
    const pair = stack.use(new Pair(folder));
    await Promise.all([pair.start("sender"), pair.start("receiver")]);
    await untilDigested(pair.sender, MODEL, postHere);
    for (let n = 0; n < KILLS; n++) {
      await copyUnderKill("receiver", pair, folder);
      await copyUnderKill("sender", pair, folder);
    }
  },
});
