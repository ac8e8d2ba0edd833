import { join } from "node:path";
import { writeCoveyTiny } from "../../scripts/fixtures/covey_tiny.ts";
import { membersSeen } from "../../scripts/lab/members.ts";
import { startFakeOllama } from "../fakes/fake_ollama.ts";
import { startFakeVllm } from "../fakes/fake_vllm.ts";
import { type NodeProcess, startNode } from "../../scripts/lab/node_process.ts";

/** Two nodes of one cluster, on this machine. */
export interface NodePair extends AsyncDisposable {
  readonly anna: NodeProcess;
  readonly ben: NodeProcess;
}

/** Names of models in fake servers, which anna has as upstreams. */
export const UPSTREAM_MODELS = {
  ollama: {
    chatModel: "fake-ollama:latest",
    embeddingModel: "fake-nomic:latest",
  },
  vllm: { chatModel: "fake/vllm", embeddingModel: "fake/bge-m3" },
} as const;

const MODEL = {
  loadMs: 0,
  prefillTokensPerSecond: 4000,
  decodeTokensPerSecond: 200,
  batchSlowdown: 0.3,
  noise: 0,
  slots: 2,
  contextLength: 8192,
};

/** Both have the embedded engine with the tiny models, and a simulated one. */
const CONFIG = {
  engines: [{
    kind: "simulated",
    id: "sim",
    models: [
      { ...MODEL, id: "sim-chat", capability: "chat" },
      { ...MODEL, id: "sim-embed", capability: "embedding" },
    ],
  }],
};

/**
 * Start them and wait until they know each other.
 *
 * @returns The nodes. Disposing ends them and removes their folders.
 */
export async function startPair(): Promise<NodePair> {
  await using stack = new AsyncDisposableStack();
  const folder = await Deno.makeTempDir({ prefix: "covey-clients-" });
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  const models = join(folder, "models");
  await writeCoveyTiny(models);
  const secret = crypto.randomUUID();
  const { ollama, vllm } = UPSTREAM_MODELS;
  const fakeOllama = stack.use(startFakeOllama([
    {
      name: ollama.chatModel,
      capabilities: ["completion", "tools"],
    },
    { name: ollama.embeddingModel, capabilities: ["embedding"] },
  ]));
  const fakeVllm = stack.use(
    startFakeVllm([vllm.chatModel, vllm.embeddingModel]),
  );
  const start = async (name: string, upstreams: string) =>
    stack.use(
      await startNode({
        name,
        dataDir: join(folder, name),
        config: CONFIG,
        env: {
          COVEY_CLUSTER_SECRET: secret,
          COVEY_ENGINE_THREADS: "1",
          COVEY_LINK_HOST: "127.0.0.1",
          COVEY_LINK_PORT: "0",
          COVEY_MDNS_INTERFACES: "127.0.0.1",
          COVEY_MODELS_DIR: models,
          COVEY_PORT: "0",
          COVEY_UPSTREAMS: upstreams,
        },
      }),
    );
  const anna = await start(
    "anna",
    `box=ollama:${fakeOllama.url},gpu=vllm:${fakeVllm.url}`,
  );
  const ben = await start("ben", "off");
  await membersSeen([anna.url, ben.url], 2, 20_000);
  const running = stack.move();
  return {
    anna,
    ben,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
