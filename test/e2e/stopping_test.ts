import assert from "node:assert/strict";
import { join } from "node:path";
import { writeCoveyTiny } from "../../scripts/fixtures/covey_tiny.ts";
import { HAS_CLUSTER } from "../../scripts/lab/cluster_code.ts";
import { eventually } from "../../scripts/lab/eventually.ts";
import { membersSeen } from "../../scripts/lab/members.ts";
import { newSecret } from "../../scripts/lab/new_secret.ts";
import { startNode } from "../../scripts/lab/node_process.ts";
import { descendants, isRunning } from "./procfs.ts";

const LINUX = Deno.build.os === "linux";

/** 30 words in three seconds. */
const SLOW = {
  engines: [{
    kind: "simulated",
    id: "sim",
    models: [{
      id: "slow",
      capability: "chat",
      loadMs: 0,
      prefillTokensPerSecond: 4000,
      decodeTokensPerSecond: 10,
      batchSlowdown: 0,
      noise: 0,
      slots: 4,
      contextLength: 8192,
    }],
  }],
};

/** A stop waits for whatever runs, also on a busy machine. */
const PATIENT = { COVEY_DRAIN: "2m" };

async function startSlow(
  stack: AsyncDisposableStack,
  name: string,
  env: Record<string, string> = {},
) {
  const folder = await Deno.makeTempDir({ prefix: "covey-e2e-" });
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  const models = join(folder, "models");
  await writeCoveyTiny(models);
  return stack.use(
    await startNode({
      name,
      dataDir: join(folder, "data"),
      config: SLOW,
      env: {
        COVEY_ENGINE_THREADS: "1",
        COVEY_MODELS_DIR: models,
        COVEY_PORT: "0",
        ...env,
      },
    }),
  );
}

function ask(url: string, model: string, maxTokens: number, path = "") {
  return fetch(`${url}${path}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model,
      messages: [{ role: "user", content: "hello" }],
      max_tokens: maxTokens,
      stream: true,
    }),
  });
}

/** Begin a stream and wait for its first bytes; the rest is read by `rest`. */
async function begin(url: string, model: string, maxTokens: number, path = "") {
  const response = await ask(url, model, maxTokens, path);
  const reader = response.body?.getReader();
  assert.ok(reader);
  const first = await reader.read();
  const decoder = new TextDecoder();
  let text = decoder.decode(first.value, { stream: true });
  return {
    async rest(): Promise<string> {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return text;
        text += decoder.decode(value, { stream: true });
      }
    },
  };
}

Deno.test({
  name:
    "a node that is stopped ends its streams, takes no work meanwhile, and is gone with its engines, code 0 (PRC-01)",
  ignore: !LINUX,
  async fn() {
    await using stack = new AsyncDisposableStack();
    const node = await startSlow(stack, "solo", PATIENT);
    await (await ask(node.url, "covey-tiny", 2)).text();
    const children = await descendants(node.pid);
    assert.notDeepEqual(children, []);
    const stream = await begin(node.url, "slow", 30);
    const gone = node.end("SIGTERM");
    await eventually("the node takes no more work", async () => {
      const ready = await fetch(`${node.url}/readyz`);
      await ready.body?.cancel();
      return ready.status === 503 ? true : undefined;
    });
    const refused = await fetch(`${node.url}/api/chat`, {
      method: "POST",
      body: JSON.stringify({ model: "slow", messages: [] }),
    });
    assert.equal(refused.status, 503);
    assert.equal(refused.headers.get("retry-after"), "1");
    assert.match((await refused.json()).error, /shutting down/);
    const alive = await fetch(`${node.url}/healthz`);
    assert.deepEqual(await alive.json(), { status: "ok" });
    assert.match(await stream.rest(), /data: \[DONE\]\n\n$/);
    const { code, signal } = await gone;
    assert.deepEqual([code, signal], [0, null]);
    for (const pid of children) assert.equal(await isRunning(pid), false);
  },
});

Deno.test("a stopped node breaks off what takes longer than COVEY_DRAIN, with an error event", async () => {
  await using stack = new AsyncDisposableStack();
  const node = await startSlow(stack, "solo", { COVEY_DRAIN: "1s" });
  const stream = await begin(node.url, "slow", 1000);
  const gone = node.end("SIGTERM");
  const text = await stream.rest();
  assert.match(text, /"code":"shutting_down"/);
  assert.doesNotMatch(text, /\[DONE\]/);
  assert.equal((await gone).code, 0);
});

Deno.test("a second signal ends a node at once", async () => {
  await using stack = new AsyncDisposableStack();
  const node = await startSlow(stack, "solo", { COVEY_DRAIN: "5m" });
  const stream = await begin(node.url, "slow", 1000);
  const gone = node.end("SIGTERM");
  await eventually("the node takes no more work", async () => {
    const ready = await fetch(`${node.url}/readyz`);
    await ready.body?.cancel();
    return ready.status === 503 ? true : undefined;
  });
  Deno.kill(node.pid, "SIGTERM");
  const { code, success } = await gone;
  assert.deepEqual([code, success], [143, false]);
  await assert.rejects(stream.rest());
});

Deno.test({
  name:
    "a stopped member ends the answers of its peers, which see at once that it takes no more",
  ignore: !HAS_CLUSTER,
  async fn() {
    await using stack = new AsyncDisposableStack();
    const link = {
      ...PATIENT,
      COVEY_CLUSTER_SECRET: newSecret(),
      COVEY_LINK_HOST: "127.0.0.1",
      COVEY_LINK_PORT: "0",
      COVEY_MDNS_INTERFACES: "127.0.0.1",
    };
    const anna = await startSlow(stack, "anna", link);
    const ben = await startSlow(stack, "ben", link);
    await membersSeen([anna.url, ben.url], 2);
    const stream = await begin(anna.url, "slow", 30, "/node/ben");
    const gone = ben.end("SIGTERM");
    await eventually("the peer sees the drain", async () => {
      const { members } = await (await fetch(`${anna.url}/cluster/members`))
        .json();
      return members.find((one: { name: string }) => one.name === "ben")
          ?.draining === true
        ? true
        : undefined;
    });
    assert.match(await stream.rest(), /data: \[DONE\]\n\n$/);
    assert.equal((await gone).code, 0);
  },
});
