import assert from "node:assert/strict";
import { join } from "node:path";
import OpenAI from "openai";
import { writeCoveyTiny } from "../../scripts/fixtures/covey_tiny.ts";
import { bundleProgram } from "../../scripts/lab/bundle.ts";
import { streamChat } from "../../scripts/lab/chat.ts";
import { type NodeProcess, startNode } from "../../scripts/lab/node_process.ts";
import { eventually } from "../../scripts/lab/eventually.ts";
import {
  descendants,
  heldSockets,
  isRunning,
  residentBytes,
} from "./procfs.ts";

const LINUX = Deno.build.os === "linux";
const IDLE_RESIDENT_BYTES = 60 * 1024 * 1024;

/** Start a node alone on this machine, with the tiny models. */
async function startAlone(
  stack: AsyncDisposableStack,
  env: Record<string, string> = {},
): Promise<NodeProcess> {
  const folder = await Deno.makeTempDir({ prefix: "covey-e2e-" });
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  const models = join(folder, "models");
  await writeCoveyTiny(models);
  return stack.use(
    await startNode({
      name: "solo",
      dataDir: join(folder, "data"),
      env: {
        COVEY_ENGINE_THREADS: "1",
        COVEY_MODELS_DIR: models,
        COVEY_PORT: "0",
        ...env,
      },
    }),
  );
}

Deno.test({
  name: "serve opens no socket but the API's when no secret is set",
  ignore: !LINUX,
  async fn() {
    await using stack = new AsyncDisposableStack();
    const node = await startAlone(stack);
    const ready = await fetch(`${node.url}/readyz`);
    await ready.body?.cancel();
    assert.equal(ready.status, 200);
    const sockets = await heldSockets(node.pid);
    assert.deepEqual(sockets, {
      tcpListeners: [Number(new URL(node.url).port)],
      udp: [],
    });
  },
});

Deno.test({
  name: "serve as it ships stays within 60 MiB when no model is loaded",
  ignore: !LINUX,
  async fn() {
    await using stack = new AsyncDisposableStack();
    const folder = await Deno.makeTempDir({ prefix: "covey-e2e-" });
    stack.defer(() => Deno.remove(folder, { recursive: true }));
    const command = await bundleProgram(join(folder, "program"));
    const start = () =>
      startNode({
        name: "solo",
        dataDir: join(folder, "data"),
        env: { COVEY_PORT: "0" },
        command,
      });
    // The first start of a new file also analyses it, once for all.
    await (await start())[Symbol.asyncDispose]();
    const node = stack.use(await start());
    await (await fetch(`${node.url}/readyz`)).text();
    const resident = await residentBytes(node.pid);
    assert.ok(
      resident <= IDLE_RESIDENT_BYTES,
      `${(resident / 1024 / 1024).toFixed(1)} MiB`,
    );
  },
});

Deno.test("the OpenAI client streams a chat from the embedded engine", async () => {
  await using stack = new AsyncDisposableStack();
  const node = await startAlone(stack);
  const client = new OpenAI({ baseURL: `${node.url}/v1`, apiKey: "none" });
  const stream = await client.chat.completions.create({
    model: "covey-tiny",
    messages: [{ role: "user", content: "hello" }],
    max_tokens: 16,
    stream: true,
    stream_options: { include_usage: true },
  });
  let pieces = 0;
  let finish: string | null = null;
  let outputTokens = 0;
  for await (const chunk of stream) {
    if (chunk.choices[0]?.delta.content) pieces += 1;
    finish = chunk.choices[0]?.finish_reason ?? finish;
    outputTokens = chunk.usage?.completion_tokens ?? outputTokens;
  }
  assert.ok(pieces > 1);
  assert.ok(outputTokens > 0);
  assert.match(finish ?? "", /^(stop|length)$/);
});

Deno.test("EMB-01 the OpenAI client gets the same embedding as floats and as base64", async () => {
  await using stack = new AsyncDisposableStack();
  const node = await startAlone(stack);
  const client = new OpenAI({ baseURL: `${node.url}/v1`, apiKey: "none" });
  const ask = { model: "covey-tiny-embed", input: ["hello", "world"] };
  const byDefault = await client.embeddings.create(ask);
  const floats = await client.embeddings.create({
    ...ask,
    encoding_format: "float",
  });
  const base64 = await client.embeddings.create({
    ...ask,
    encoding_format: "base64",
  });
  const width = floats.data[0]?.embedding.length ?? 0;
  assert.ok(width >= 8);
  assert.notDeepEqual(floats.data[0]?.embedding, floats.data[1]?.embedding);
  for (const n of [0, 1]) {
    const expected = (floats.data[n]?.embedding ?? []).map(Math.fround);
    assert.deepEqual(
      (byDefault.data[n]?.embedding ?? []).map(Math.fround),
      expected,
    );
    const bytes = Uint8Array.fromBase64(
      String(base64.data[n]?.embedding as unknown),
    );
    assert.deepEqual([...new Float32Array(bytes.buffer)], expected);
  }
});

Deno.test({
  name: "PRC-01 no engine process outlives a node that is killed",
  ignore: !LINUX,
  async fn() {
    await using stack = new AsyncDisposableStack();
    for (const signal of ["SIGKILL", "SIGTERM"] as const) {
      const node = await startAlone(stack);
      await streamChat(node.url, {
        model: "covey-tiny",
        text: "hello",
        maxTokens: 4,
      });
      const children = await descendants(node.pid);
      assert.ok(children.length > 0, "the engine runs as a child process");
      await node.end(signal);
      await eventually(`the engine is gone after ${signal}`, async () => {
        const running = await Promise.all(children.map(isRunning));
        return running.includes(true) ? undefined : true;
      });
    }
  },
});

/** A request that ran to its end would be counted with another outcome. */
const CANCELLED = /^covey_requests_total\{[^}]*outcome="cancelled"[^}]*\} 1$/m;
const IDLE = /^covey_queue_running\S* 0$/m;

function shows({ url }: NodeProcess, line: RegExp): Promise<unknown> {
  return eventually(`the metrics show ${line}`, async () => {
    const metrics = await (await fetch(`${url}/metrics`)).text();
    return line.test(metrics) || undefined;
  });
}

Deno.test({
  name: "SSE-11 a client that leaves a whole answer waiting stops the engine",
  ignore: !LINUX,
  async fn() {
    await using stack = new AsyncDisposableStack();
    const node = await startAlone(stack);
    const leave = new AbortController();
    const asked = fetch(`${node.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      // No bound and no end token: alone it would run to the end of the context.
      body: JSON.stringify({
        model: "covey-tiny",
        messages: [{ role: "user", content: "hello ".repeat(200) }],
        ignore_eos: true,
      }),
      signal: leave.signal,
    });
    await shows(node, /^covey_queue_running\S* 1$/m);
    leave.abort();
    await asked.catch(() => {});
    await shows(node, CANCELLED);
    await shows(node, IDLE);
  },
});

Deno.test("SSE-11 a client that leaves a stream stops the engine", async () => {
  await using stack = new AsyncDisposableStack();
  const node = await startAlone(stack);
  const response = await fetch(`${node.url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: "covey-tiny",
      messages: [{ role: "user", content: "hello ".repeat(200) }],
      stream: true,
      ignore_eos: true,
    }),
  });
  const reader = response.body?.getReader();
  await reader?.read();
  await reader?.cancel();
  await shows(node, CANCELLED);
  await shows(node, IDLE);
});
