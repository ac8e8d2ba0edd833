import assert from "node:assert/strict";
import { Fault } from "../../src/domain/mod.ts";
import { LoadSpeed } from "../../src/engines/embedded/load_speed.ts";
import { createRouter } from "../../src/router/mod.ts";
import { createSeededEntropy } from "../../src/platform/mod.ts";
import { buildAttempt, testNodeId } from "../fakes/attempt_builder.ts";
import { chatRequest } from "../fakes/chat_request.ts";
import { CountingMetrics } from "../fakes/counting_metrics.ts";
import { GB, model, never, setUp } from "../fakes/embedded_setup.ts";
import { startUpstreamServer } from "../fakes/upstream_server.ts";
import { setUpUpstreams } from "./upstream/upstream_setup.ts";

Deno.test("a load of 40 s is waited for, shared by all who ask, and outlives those who leave; nothing is sent before it is over (PRC-04)", async () => {
  const { ask, clock, engine, processes, state, tokens } = setUp();
  await using _owner = engine;
  const impatient = new AbortController();
  const started = await engine.start(buildAttempt("a"), impatient.signal);
  assert.equal(started.kind, "accepted");
  const left = assert.rejects(started.answer());
  const patient = ask("a");
  await clock.advance(10_000);
  impatient.abort(new Error("The client left"));
  await left;
  processes.last.say({ event: "loading", progress: 0.25 });
  await clock.advance(29_999);
  assert.equal(state("a"), "loading");
  assert.deepEqual(tokens, []);
  const [offer] = engine.view().offers;
  assert.equal(offer?.state.kind === "loading" && offer.state.progress, 0.25);
  processes.last.becomeReady();
  await patient;
  assert.equal(tokens.length, 1);
  assert.equal(processes.children.length, 1);
});

Deno.test("a model that failed to load is tried again for a later request, and meanwhile refused with a time (PRC-03, PRC-04)", async () => {
  const { clock, engine, log, processes } = setUp();
  await using _owner = engine;
  await using router = createRouter({
    self: { id: testNodeId(), name: "here" },
    localEngines: [engine],
    peers: () => [],
    policy: "local_first",
    maxQueue: 64,
    clock,
    entropy: createSeededEntropy(1),
    log,
    metrics: new CountingMetrics(),
  });
  const refused = async (code: string) => {
    try {
      await router.route(chatRequest({ model: "a", stream: false }), never);
    } catch (thrown) {
      assert.ok(thrown instanceof Fault);
      assert.equal(thrown.code, code);
      return thrown;
    }
    throw new Error("It was answered");
  };
  processes.onSpawn = (child) => child.exit(137);
  const first = await refused("engine_failed");
  assert.match(first.message, /killed\/out of memory/);
  const meanwhile = await refused("no_candidate");
  assert.match(meanwhile.message, /failed to load: .*killed\/out of memory/);
  assert.equal(meanwhile.retryAfterMs, 1_000);
  assert.equal(processes.children.length, 1);
  await clock.advance(1_000);
  processes.onSpawn = (child) => child.becomeReady();
  const answer = await router.route(
    chatRequest({ model: "a", body: { messages: [] } }),
    never,
  );
  await new Response(answer.body).text();
  assert.equal(processes.children.length, 2);
});

Deno.test("a server that lists its models before it can answer is not asked until it can (PRC-04)", async () => {
  let isReady = false;
  await using server = startUpstreamServer(({ path }) => {
    switch (path) {
      case "/v1/models":
        return Response.json({ object: "list", data: [{ id: "m" }] });
      case "/props":
        return isReady
          ? Response.json({
            total_slots: 1,
            default_generation_settings: { n_ctx: 4096 },
          })
          : Response.json({ error: { message: "Loading model" } }, {
            status: 503,
          });
      case "/v1/chat/completions":
        return Response.json({
          choices: [{ index: 0, message: { content: "hi" } }],
        });
      default:
        return undefined;
    }
  });
  await using setup = await setUpUpstreams({
    kind: "llama-server",
    url: server.url,
  });
  await assert.rejects(setup.ask({ model: "m", stream: false }), Fault);
  assert.equal(server.callsOf("/v1/chat/completions").length, 0);
  isReady = true;
  await setup.upstreams.look();
  for (const engine of setup.upstreams.engines()) {
    if ("refresh" in engine && typeof engine.refresh === "function") {
      await engine.refresh();
    }
  }
  assert.equal((await setup.ask({ model: "m", stream: false })).status, 200);
});

Deno.test("a load's deadline grows with the model and with the slowness of loads so far", () => {
  const speed = new LoadSpeed();
  const seconds = (sizeBytes: number) =>
    Math.round(speed.deadlineMs(sizeBytes) / 1_000);
  assert.deepEqual([0, 5 * GB, 50 * GB].map(seconds), [300, 400, 1_300]);
  // From the system's cache: no promise for the next one.
  speed.observe(5 * GB, 1_000);
  assert.equal(seconds(5 * GB), 400);
  speed.observe(GB, 100);
  for (let n = 0; n < 20; n++) speed.observe(GB, 50_000);
  assert.equal(seconds(5 * GB), 1_300);
});

Deno.test("the deadline of a load is that of its model's size", async () => {
  const { clock, engine, models, processes, state } = setUp();
  await using _owner = engine;
  models.push(model("large", { sizeBytes: 50 * GB }));
  const started = await engine.start(buildAttempt("large"), never);
  assert.equal(started.kind, "accepted");
  const asked = assert.rejects(
    started.answer(),
    (error) =>
      error instanceof Fault &&
      /did not load within 1300 s/.test(error.message),
  );
  await clock.advance(1_299_000);
  assert.equal(state("large"), "loading");
  await clock.advance(1_000);
  await asked;
  assert.deepEqual(processes.last.signals, ["SIGTERM"]);
});
