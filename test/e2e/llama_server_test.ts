import assert from "node:assert/strict";
import { join } from "node:path";
import { writeCoveyTiny } from "../../scripts/fixtures/covey_tiny.ts";
import { streamChat } from "../../scripts/lab/chat.ts";
import { eventually } from "../../scripts/lab/eventually.ts";
import { startNode } from "../../scripts/lab/node_process.ts";
import { descendants, isRunning } from "./procfs.ts";

const LINUX = Deno.build.os === "linux";

/** A node that finds a program called llama-server first of all on its PATH. */
async function startWithServer(stack: AsyncDisposableStack, script: string) {
  const folder = await Deno.makeTempDir({ prefix: "covey-server-" });
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  const programs = join(folder, "bin");
  const models = join(folder, "models");
  await Deno.mkdir(programs);
  await writeCoveyTiny(models);
  await Deno.writeTextFile(
    join(programs, "llama-server"),
    `#!/bin/sh\n${script}\n`,
    { mode: 0o755 },
  );
  const node = stack.use(
    await startNode({
      name: "served",
      dataDir: join(folder, "data"),
      env: {
        PATH: `${programs}:${Deno.env.get("PATH")}`,
        COVEY_ENGINE: "llama-server",
        COVEY_ENGINE_THREADS: "1",
        COVEY_MODELS_DIR: models,
        COVEY_PORT: "0",
      },
    }),
  );
  return node;
}

const FAKE = join(import.meta.dirname ?? ".", "../fakes/llama_server.ts");
const COMPUTES =
  `exec '${Deno.execPath()}' run --no-prompt -A --no-check '${FAKE}' "$@"`;
const FAILS = "echo 'error: wrong number of tensors' >&2; exit 1";

Deno.test({
  name:
    "COVEY_ENGINE=llama-server has the program of that name compute, and PRC-01 takes it along when the node is killed",
  ignore: !LINUX,
  async fn() {
    await using stack = new AsyncDisposableStack();
    const node = await startWithServer(stack, COMPUTES);
    const answer = await streamChat(node.url, {
      model: "covey-tiny",
      text: "hello",
      maxTokens: 8,
    });
    assert.equal(answer.status, 200);
    // Random weights may choose the end of the text before the eighth token.
    assert.ok(
      answer.outputTokens >= 1 && answer.outputTokens <= 8,
      `${answer.outputTokens} tokens`,
    );
    const decision = await fetch(
      `${node.url}/covey/decisions/${answer.decision}`,
    );
    assert.equal((await decision.json()).chosen.engine, "llama-server");
    const embedded = await fetch(`${node.url}/v1/embeddings`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "covey-tiny-embed", input: ["a", "b"] }),
    });
    const text = await embedded.text();
    assert.equal(JSON.parse(text).data?.length, 2, `${text}\n${node.log()}`);

    const children = await descendants(node.pid);
    // Two models: for each the child that minds it, and the server.
    assert.ok(children.length >= 4, `${children.length} processes`);
    await node.end("SIGKILL");
    await eventually("every engine process is gone", async () => {
      const left = await Promise.all(children.map(isRunning));
      return left.includes(true) ? undefined : true;
    });
  },
});

Deno.test({
  name: "COVEY_ENGINE=llama-server passes on why a model can not be loaded",
  ignore: !LINUX,
  async fn() {
    await using stack = new AsyncDisposableStack();
    const node = await startWithServer(stack, FAILS);
    const response = await fetch(`${node.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        model: "covey-tiny",
        messages: [{ role: "user", content: "hello" }],
      }),
    });
    const said = await response.text();
    assert.ok(response.status >= 500, said);
    assert.match(said, /wrong number of tensors/);
  },
});
