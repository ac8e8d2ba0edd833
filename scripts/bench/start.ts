/**
 * From a node's start to its first answer: the program as it ships, alone and
 * with a secret, on a simulated engine whose model is warm at once.
 *
 * @module
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bundleProgram } from "../lab/bundle.ts";
import { streamChat } from "../lab/chat.ts";
import { INSTANT_ENGINE } from "../lab/instant_engine.ts";
import { startNode } from "../lab/node_process.ts";

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "10" } },
});
const rounds = Number(values.rounds);

const folder = await Deno.makeTempDir({ prefix: "covey-bench-" });
await using stack = new AsyncDisposableStack();
stack.defer(() => Deno.remove(folder, { recursive: true }));
const command = await bundleProgram(join(folder, "program"));

/** What one start took, in milliseconds since the process was made. */
interface Start {
  readonly readyMs: number;
  readonly answeredMs: number;
}

async function startOnce(
  name: string,
  env: Readonly<Record<string, string>>,
): Promise<Start> {
  const startedMs = performance.now();
  await using node = await startNode({
    name,
    dataDir: join(folder, name),
    config: INSTANT_ENGINE,
    env: { COVEY_ENGINE: "off", COVEY_PORT: "0", ...env },
    command,
  });
  await streamChat(node.url, { model: "sim", text: "hello", maxTokens: 1 });
  return {
    readyMs: node.readyAfterMs,
    answeredMs: performance.now() - startedMs,
  };
}

function medianOf(starts: readonly Start[]): Record<keyof Start, number> {
  const median = (key: keyof Start) =>
    Math.round(
      starts.map((start) => start[key]).sort((a, b) => a - b)
        .at(Math.floor(starts.length / 2)) ?? NaN,
    );
  return {
    readyMs: median("readyMs"),
    answeredMs: median("answeredMs"),
  };
}

const ways = {
  alone: {},
  clustered: {
    COVEY_CLUSTER_SECRET: crypto.getRandomValues(new Uint8Array(20)).toHex(),
    COVEY_LINK_HOST: "127.0.0.1",
    COVEY_LINK_PORT: "0",
    COVEY_MDNS_INTERFACES: "127.0.0.1",
  },
};
const figures: Record<string, Record<keyof Start, number>> = {};
for (const [way, env] of Object.entries(ways)) {
  // The very first start also analyses the file, and makes the identity.
  await startOnce(way, env);
  const starts: Start[] = [];
  for (let round = 0; round < rounds; round++) {
    starts.push(await startOnce(way, env));
  }
  figures[way] = medianOf(starts);
}
// deno-lint-ignore no-console
console.log(JSON.stringify({ rounds, ...figures }, null, 1));
