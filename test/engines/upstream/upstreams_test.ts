import assert from "node:assert/strict";
import { startFakeOllama } from "../../fakes/fake_ollama.ts";
import { startFakeVllm } from "../../fakes/fake_vllm.ts";
import {
  openAiAnswer,
  startUpstreamServer,
} from "../../fakes/upstream_server.ts";
import { createOwnFetch } from "../../../src/engines/own_fetch.ts";
import { createUpstreams } from "../../../src/engines/upstream/upstreams.ts";
import { ManualClock } from "../../../src/platform/mod.ts";
import { QuietLog } from "../../fakes/quiet_log.ts";
import { nodeIdOf } from "../../fakes/scripted_engine.ts";
import { eventually } from "../../../scripts/lab/eventually.ts";
import { setUpUpstreams } from "./upstream_setup.ts";

Deno.test("servers are found by what they answer, and come and go", async () => {
  await using vllm = startFakeVllm(["v"]);
  const first = startFakeOllama();
  const { port } = first;
  await using setup = await setUpUpstreams({
    ports: [port, vllm.port],
    ownPorts: [],
  });
  const names = () => setup.upstreams.engines().map(({ id }) => id);
  const models = () => setup.router.models().map(({ model }) => model);
  assert.deepEqual(names(), ["ollama", "vllm"]);
  assert.deepEqual(models(), [
    "big:70b",
    "mymodel:latest",
    "nomic:latest",
    "v",
  ]);
  await first[Symbol.asyncDispose]();
  await setup.clock.advance(10_000);
  await setup.upstreams.look();
  await setup.upstreams.look();
  await setup.upstreams.look();
  await using _again = startFakeOllama([{
    name: "new:latest",
    capabilities: ["completion"],
  }], port);
  await setup.upstreams.look();
  await setup.upstreams.engines()[0]?.view();
  assert.deepEqual(models(), ["new:latest", "v"]);
});

Deno.test("another kind of server at the port of one that went takes its place", async () => {
  const first = startFakeVllm(["v"]);
  const { port } = first;
  await using setup = await setUpUpstreams({ ports: [port], ownPorts: [] });
  await first[Symbol.asyncDispose]();
  await setup.clock.advance(10_000);
  await using _next = startFakeOllama(undefined, port);
  await setup.upstreams.look();
  assert.deepEqual(setup.upstreams.engines().map(({ id }) => id), ["ollama"]);
  assert.match((await setup.ask({ model: "mymodel" })).text, /\[DONE\]/);
});

Deno.test("a server that answers 200 to everything is no Ollama and no llama-server (REQ-08)", async () => {
  await using server = startUpstreamServer((call) =>
    call.path === "/v1/models"
      ? Response.json({ object: "list", data: [{ id: "m" }] })
      : openAiAnswer(call) ?? Response.json({ error: "no such endpoint" })
  );
  await using setup = await setUpUpstreams({
    ports: [server.port],
    ownPorts: [],
  });
  assert.deepEqual(setup.upstreams.engines().map(({ id }) => id), [
    "openai-compatible",
  ]);
  assert.deepEqual(setup.router.models().map(({ model }) => model), ["m"]);
  assert.match((await setup.ask()).text, /\[DONE\]/);
  assert.equal(server.callsOf("/v1/chat/completions").length, 1);
});

Deno.test("a server that hangs holds up neither the search for others nor its end", async () => {
  const hanging = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const accepted = hanging.accept();
  await using vllm = startFakeVllm();
  const clock = new ManualClock();
  using own = createOwnFetch(clock);
  const upstreams = createUpstreams({
    named: null,
    ports: [hanging.addr.port, vllm.port],
    ownPorts: [],
    takenIds: [],
    node: nodeIdOf(1),
    nodeName: "node-1",
    clock,
    log: new QuietLog(),
    fetch: own.fetch,
    plain: own.plain,
  });
  const connection = await accepted;
  await eventually(
    "the other server is found",
    () => Promise.resolve(upstreams.engines()[0]?.view().offers[0]),
  );
  await upstreams[Symbol.asyncDispose]();
  connection.close();
  hanging.close();
});

Deno.test("nodes of Covey, this one's port and what is no engine are left alone", async () => {
  await using covey = startUpstreamServer(({ path }) =>
    path === "/fleet/health"
      ? Response.json({ available: 1, total: 1, workers: [] })
      : path === "/v1/models"
      ? Response.json({ data: [{ id: "m", owned_by: "library" }] })
      : undefined
  );
  await using web = startUpstreamServer(() => new Response("<html>"));
  await using own = startFakeVllm();
  await using setup = await setUpUpstreams({
    ports: [covey.port, web.port, own.port],
    ownPorts: [own.port],
  });
  assert.deepEqual(setup.upstreams.engines(), []);
  assert.equal(own.calls.length, 0);
});
