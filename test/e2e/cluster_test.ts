import assert from "node:assert/strict";
import { join } from "node:path";
import { writeCoveyTiny } from "../../scripts/fixtures/covey_tiny.ts";
import { closedLoop, streamChat } from "../../scripts/lab/chat.ts";
import { listMembers, membersSeen } from "../../scripts/lab/members.ts";
import { newSecret } from "../../scripts/lab/new_secret.ts";
import { startNode } from "../../scripts/lab/node_process.ts";
import { eventually } from "../../scripts/lab/eventually.ts";
import { HAS_CLUSTER } from "../../scripts/lab/cluster_code.ts";

const SIMULATED = {
  engines: [{
    kind: "simulated",
    id: "sim",
    models: [{
      id: "sim-2b",
      capability: "chat",
      loadMs: 0,
      prefillTokensPerSecond: 4000,
      decodeTokensPerSecond: 200,
      batchSlowdown: 0.3,
      noise: 0,
      slots: 1,
      contextLength: 8192,
    }],
  }],
};

/** Two nodes on the loopback interface, of one cluster unless told otherwise. */
async function startPair(
  stack: AsyncDisposableStack,
  secret = newSecret(),
  secretOfBen = secret,
) {
  const folder = await Deno.makeTempDir({ prefix: "covey-e2e-" });
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  const models = join(folder, "models");
  await writeCoveyTiny(models);
  const start = async (name: string, secret: string) =>
    stack.use(
      await startNode({
        name,
        dataDir: join(folder, name),
        config: SIMULATED,
        env: {
          COVEY_CLUSTER_SECRET: secret,
          COVEY_ENGINE_THREADS: "1",
          COVEY_LINK_HOST: "127.0.0.1",
          COVEY_LINK_PORT: "0",
          COVEY_LOG_LEVEL: "debug",
          COVEY_MDNS_INTERFACES: "127.0.0.1",
          COVEY_MODELS_DIR: models,
          COVEY_PORT: "0",
          COVEY_ROUTING: "balanced",
        },
      }),
    );
  const anna = await start("anna", secret);
  const ben = await start("ben", secretOfBen);
  return { anna, ben };
}

Deno.test({
  name: "two nodes with one secret find each other and serve through either",
  ignore: !HAS_CLUSTER,
  async fn() {
    await using stack = new AsyncDisposableStack();
    const { anna, ben } = await startPair(stack);
    await membersSeen([anna.url, ben.url], 2);
    const members = await listMembers(anna.url);
    const idOf = (name: string) =>
      members.find((member) => member.name === name)?.id;
    for (const [entry, server] of [["anna", "ben"], ["ben", "anna"]] as const) {
      const url = entry === "anna" ? anna.url : ben.url;
      const result = await streamChat(url, {
        model: "covey-tiny",
        text: "hello",
        maxTokens: 8,
        source: `node:${server}`,
      });
      assert.equal(result.servedBy, idOf(server));
      assert.ok(result.streamed && result.finished);
      assert.ok(result.outputTokens > 0);
      const decision = await (await fetch(
        `${url}/covey/decisions/${result.decision}`,
      )).json();
      assert.equal(decision.chosen.node, idOf(server));
      assert.equal(decision.actual.outputTokens, result.outputTokens);
    }
  },
});

Deno.test({
  name:
    "a conversation of ten turns stays with the member that has its history while both are idle (RTE-04)",
  ignore: !HAS_CLUSTER,
  async fn() {
    await using stack = new AsyncDisposableStack();
    const { anna, ben } = await startPair(stack);
    await membersSeen([anna.url, ben.url], 2);
    const home = (await listMembers(anna.url)).find(({ self }) => !self)?.id;
    // About half a second of prefill.
    const system = "You are a helpful assistant. ".repeat(280);
    const messages = [{ role: "system", content: system }];
    for (let turn = 0; turn < 10; turn++) {
      messages.push({ role: "user", content: `question ${turn}` });
      const response = await fetch(`${anna.url}/v1/chat/completions`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          // Where nothing is cached the entry node would keep it.
          ...(turn === 0 ? { "x-covey-source": "node:ben" } : {}),
        },
        body: JSON.stringify({ model: "sim-2b", messages, max_tokens: 8 }),
      });
      assert.equal(response.status, 200);
      assert.equal(response.headers.get("x-covey-node"), home, `turn ${turn}`);
      messages.push((await response.json()).choices[0].message);
    }
  },
});

Deno.test({
  name: "a killed member's work goes to the one that lives",
  ignore: !HAS_CLUSTER,
  async fn() {
    await using stack = new AsyncDisposableStack();
    const { anna, ben } = await startPair(stack);
    await membersSeen([anna.url, ben.url], 2);
    await ben.end("SIGKILL");
    // Right after the kill, before any poll can have noticed it.
    const { results } = await closedLoop(4, 4, () =>
      streamChat(anna.url, {
        model: "sim-2b",
        text: "hello",
        maxTokens: 16,
      }));
    const self = (await listMembers(anna.url)).find(({ self }) => self);
    for (const result of results) {
      assert.equal(result.servedBy, self?.id);
      assert.equal(result.outputTokens, 16);
    }
    await eventually("the dead member is shown off line", async () => {
      const members = await listMembers(anna.url);
      return members.some(({ name, health }) =>
          name === "ben" && health === "OFFLINE"
        )
        ? true
        : undefined;
    });
  },
});

Deno.test({
  name: "two nodes with different secrets never become members of each other",
  ignore: !HAS_CLUSTER,
  async fn() {
    await using stack = new AsyncDisposableStack();
    const { anna, ben } = await startPair(stack, newSecret(), newSecret());
    // They did meet: the refusal is in a log. Only then does "one member" mean anything.
    await eventually("an admission was refused", () =>
      Promise.resolve(
        /admission/i.test(anna.log() + ben.log()) &&
          /refus/i.test(anna.log() + ben.log())
          ? true
          : undefined,
      ));
    for (const url of [anna.url, ben.url]) {
      const members = await listMembers(url);
      assert.deepEqual(members.map(({ self }) => self), [true]);
    }
  },
});
