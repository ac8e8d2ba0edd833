import assert from "node:assert/strict";
import OpenAI from "openai";
import { eventually } from "../../scripts/lab/eventually.ts";
import { newSecret } from "../../scripts/lab/new_secret.ts";
import { type NodeProcess, startNode } from "../../scripts/lab/node_process.ts";
import { startFakeOllama } from "../fakes/fake_ollama.ts";
import { startFakeVllm } from "../fakes/fake_vllm.ts";
import { startUpstreamServer } from "../fakes/upstream_server.ts";
import { HAS_CLUSTER } from "../../scripts/lab/cluster_code.ts";

/** Start a node without an engine of its own, in front of upstream servers. */
async function startInFrontOf(
  stack: AsyncDisposableStack,
  upstreams: string,
  env: Readonly<Record<string, string>> = {},
): Promise<NodeProcess> {
  const folder = await Deno.makeTempDir({ prefix: "covey-e2e-" });
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  return stack.use(
    await startNode({
      name: "solo",
      dataDir: folder,
      env: {
        COVEY_ENGINE: "off",
        COVEY_PORT: "0",
        COVEY_UPSTREAMS: upstreams,
        ...env,
      },
    }),
  );
}

async function modelsOf(url: string): Promise<readonly string[]> {
  const { data } = await (await fetch(`${url}/v1/models`)).json();
  return data.map(({ id }: { id: string }) => id);
}

Deno.test("a node serves what Ollama and vLLM have, and dead servers neither delay its start nor its lists (RTE-06)", async () => {
  await using stack = new AsyncDisposableStack();
  const ollama = stack.use(startFakeOllama());
  const vllm = stack.use(startFakeVllm());
  const silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  stack.defer(() => silent.close());
  const free = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const refused = free.addr.port;
  free.close();
  // One that sends its head, and the body never.
  const bodiless = stack.use(
    startUpstreamServer(() =>
      new Response(new ReadableStream(), {
        headers: { "content-type": "application/json" },
      })
    ),
  );
  const node = await startInFrontOf(
    stack,
    [
      `box=ollama:${ollama.url}`,
      `gpu=vllm:${vllm.url}/v1/`,
      `silent=vllm:http://127.0.0.1:${silent.addr.port}`,
      `gone=ollama:http://127.0.0.1:${refused}`,
      `bodiless=vllm:${bodiless.url}`,
    ].join(","),
  );
  const wanted = ["big:70b", "mymodel:latest", "nomic:latest", "qwen/qwen3-8b"];
  await eventually("all models are listed", async () => {
    const models = await modelsOf(node.url);
    return models.length === wanted.length ? models : undefined;
  });
  assert.deepEqual(await modelsOf(node.url), wanted);
  // None of the dead ones is waited for: a list that hangs never comes.
  for (let n = 0; n < 60; n++) {
    assert.deepEqual(await modelsOf(node.url), wanted);
    const tags = await fetch(`${node.url}/api/tags`);
    assert.equal(tags.status, 200);
    const { models } = await tags.json();
    assert.equal(models.length, wanted.length);
  }
  const client = new OpenAI({ baseURL: `${node.url}/v1`, apiKey: "none" });
  for (const model of ["mymodel", "qwen/qwen3-8b"]) {
    let text = "";
    const stream = await client.chat.completions.create({
      model,
      messages: [{ role: "user", content: "Hello" }],
      stream: true,
    });
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
    }
    assert.equal(text, "one two");
  }
  const [floats, base64] = await Promise.all(
    (["float", "base64"] as const).map(async (encoding_format) => {
      const { data } = await client.embeddings.create({
        model: "nomic",
        input: ["a", "b"],
        encoding_format,
      });
      return data.map(({ embedding }) => embedding);
    }),
  );
  assert.deepEqual(floats?.map((vector) => [vector.length, vector[0]]), [
    [8, 0.5],
    [8, 1.5],
  ]);
  assert.deepEqual(
    base64?.map((text) => decoded(String(text))),
    floats,
    "EMB-01",
  );
  const { workers } = await (await fetch(`${node.url}/fleet/health`)).json();
  assert.equal(workers.length, 1);
  const states = await eventually("the dead are shown as such", async () => {
    const health = await (await fetch(`${node.url}/fleet/health`)).json();
    const found = health.workers[0].checks.engines.map((
      { id, state }: { id: string; state: string },
    ) => [id, state]);
    const isJudged = found.filter(([, state]: [string, string]) =>
      state === "unavailable"
    ).length === 3;
    return isJudged ? found : undefined;
  });
  assert.deepEqual(states, [
    ["box", "available"],
    ["gpu", "available"],
    ["silent", "unavailable"],
    ["gone", "unavailable"],
    ["bodiless", "unavailable"],
  ]);
});

Deno.test({
  name: "a member serves what another one's Ollama has",
  ignore: !HAS_CLUSTER,
  async fn() {
    await using stack = new AsyncDisposableStack();
    const ollama = stack.use(startFakeOllama());
    const member = {
      COVEY_CLUSTER_SECRET: newSecret(),
      COVEY_LINK_HOST: "127.0.0.1",
      COVEY_LINK_PORT: "0",
      COVEY_MDNS_INTERFACES: "127.0.0.1",
    };
    await startInFrontOf(stack, `box=ollama:${ollama.url}`, {
      ...member,
      COVEY_NAME: "anna",
    });
    const ben = await startInFrontOf(stack, "off", {
      ...member,
      COVEY_NAME: "ben",
    });
    await eventually("ben lists anna's models", async () => {
      const models = await modelsOf(ben.url);
      return models.includes("mymodel:latest") ? models : undefined;
    });
    const client = new OpenAI({ baseURL: `${ben.url}/v1`, apiKey: "none" });
    const { choices } = await client.chat.completions.create({
      model: "mymodel",
      messages: [{ role: "user", content: "Hello" }],
    });
    assert.equal(choices[0]?.message.content, "one two");
    assert.equal(ollama.callsOf("/v1/chat/completions").length, 1);
  },
});

function decoded(base64: string): readonly number[] {
  const bytes = Uint8Array.fromBase64(base64);
  return [...new Float32Array(bytes.buffer)];
}
