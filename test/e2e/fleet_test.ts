import assert from "node:assert/strict";
import { HAS_CLUSTER } from "../../scripts/lab/cluster_code.ts";
import { eventually } from "../../scripts/lab/eventually.ts";
import { FROM_SOURCE, inheritedEnv } from "../../scripts/lab/node_process.ts";
import { AddressCluster } from "./address_cluster.ts";
import { streamAndAct } from "./killed_stream.ts";

/** The worker is the faster one; its odd model answers every request with a 500. */
function simulated(decodeTokensPerSecond: number, errorRate: number) {
  const models = [{ id: "sim-2b", decodeTokensPerSecond, slots: 4 }];
  return {
    engines: [
      { kind: "simulated", id: "sim", models },
      {
        kind: "simulated",
        id: "odd",
        models: [{ ...models[0], id: "odd" }],
        faults: { errorRate },
      },
    ],
  };
}

function chat(url: string, model: string, maxTokens: number): Request {
  return new Request(`${url}/v1/chat/completions`, {
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

/** Run a command of the program against the entry. */
async function covey(url: string, ...args: string[]) {
  const [program = "", ...before] = FROM_SOURCE;
  const { code, stderr, stdout } = await new Deno.Command(program, {
    args: [...before, ...args],
    clearEnv: true,
    env: { ...inheritedEnv(), COVEY_PORT: new URL(url).port },
  }).output();
  const text = new TextDecoder();
  return { code, out: text.decode(stdout), error: text.decode(stderr) };
}

Deno.test({
  name:
    "a worker is drained over the link while it works, stays so over a restart, is taken back and removed; one that fails at once gets no traffic (RTE-03)",
  ignore: !HAS_CLUSTER,
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "covey-e2e-" });
    await using cluster = new AddressCluster(folder, {
      env: { COVEY_ENGINE: "off", COVEY_ROUTING: "balanced", COVEY_TIER: "2" },
    });
    await cluster.open(simulated(40, 0));
    const worker = await cluster.add("worker", simulated(200, 1));
    await cluster.isUsed("worker");
    const { id, tier } = await cluster.worker("worker");
    assert.equal(tier, 2, "a member's row says its tier");

    // What runs there is finished; the next one is served here.
    const { raw } = await streamAndAct(
      new Request(chat(cluster.url, "sim-2b", 200), {
        headers: {
          "content-type": "application/json",
          "x-covey-source": "node:worker",
        },
      }),
      {
        isThere: (raw) => raw.includes("w5 "),
        async act() {
          const drained = await covey(cluster.url, "drain", "worker");
          assert.equal(drained.code, 0, drained.error);
          assert.match(drained.out, /"worker" takes no more work/);
        },
      },
    );
    assert(raw.includes("w200 ") && raw.includes("[DONE]"));
    const here = await fetch(chat(cluster.url, "sim-2b", 5));
    assert.notEqual(here.headers.get("x-covey-node"), id);
    await here.body?.cancel();
    await eventually("nothing runs there", async () => {
      await (await cluster.act("POST", "/fleet/workers/refresh")).text();
      const { draining, in_flight_tasks } = await cluster.worker("worker");
      assert.equal(draining, true);
      return in_flight_tasks === 0 ? true : undefined;
    });

    await worker.end("SIGTERM");
    await cluster.add("worker", simulated(200, 1));
    await cluster.isUsed("worker");
    assert.equal((await cluster.worker("worker")).draining, true);
    const back = await covey(cluster.url, "undrain", "worker", "--json");
    assert.equal(JSON.parse(back.out).draining, false, back.error);

    // It would be five times as fast, if only it did not fail.
    const servers: (string | null)[] = [];
    for (let n = 0; n < 20; n++) {
      const answer = await fetch(chat(cluster.url, "odd", 2));
      assert.equal(answer.status, 200);
      servers.push(answer.headers.get("x-covey-node"));
      await answer.body?.cancel();
    }
    assert(!servers.includes(id));
    const { breaker, checks } = await cluster.worker("worker");
    const engines = new Map<string, { breaker: string }>(
      // deno-lint-ignore no-explicit-any
      checks.engines.map((one: any) => [one.id, one]),
    );
    assert.equal(engines.get("sim")?.breaker, "closed", "it stays in use");
    assert.equal(breaker, engines.get("odd")?.breaker, "the worst is shown");
    const still = await fetch(chat(cluster.url, "sim-2b", 100));
    assert.equal(still.headers.get("x-covey-node"), id);
    await still.body?.cancel();

    const removed = await cluster.act("DELETE", "/fleet/workers/worker");
    assert.equal(removed.status, 200);
    assert.equal((await removed.json()).removed.id, id);
    assert.equal(await cluster.worker("worker"), null);
    const metrics = await (await fetch(`${cluster.url}/metrics`)).text();
    assert.match(metrics, /covey_cluster_events_total\{event="drain"[^}]*\} 2/);
  },
});
