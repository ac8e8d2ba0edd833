import assert from "node:assert/strict";
import { Fault } from "../../../src/domain/mod.ts";
import { parseUpstreamUrl } from "../../../src/engines/upstream/upstream_url.ts";
import { startFakeOllama } from "../../fakes/fake_ollama.ts";
import { startFakeVllm } from "../../fakes/fake_vllm.ts";
import { startRawUpstream } from "../../fakes/raw_upstream.ts";
import {
  openAiAnswer,
  startUpstreamServer,
} from "../../fakes/upstream_server.ts";
import { setUpUpstreams } from "./upstream_setup.ts";

Deno.test("parseUpstreamUrl reads every spelling of a base alike (TRN-06)", () => {
  for (const end of ["", "/", "/v1", "/v1/", "//", "/v1//"]) {
    assert.deepEqual(parseUpstreamUrl(`http://h:1/base${end}`), {
      origin: "http://h:1",
      root: "http://h:1/base",
      openai: "http://h:1/base/v1",
    });
  }
});

Deno.test("a server is asked at one place, with or without slash and /v1 in its URL (TRN-06)", async () => {
  for (const end of ["", "/", "/v1", "/v1/"]) {
    await using server = startFakeVllm(["m"]);
    await using setup = await setUpUpstreams({
      kind: "vllm",
      url: server.url + end,
    });
    const { text } = await setup.ask();
    assert.match(text, /\[DONE\]/);
    assert.deepEqual(
      new Set(server.calls.map(({ path }) => path)),
      new Set([
        "/v1/models",
        "/v1/chat/completions",
      ]),
    );
    assert.equal(server.callsOf("/v1/chat/completions").length, 1);
  }
});

Deno.test("a server that answers HTML to anything is none, by name (TRN-06)", async () => {
  await using server = startUpstreamServer(() =>
    new Response("<html>hello</html>", {
      headers: { "content-type": "text/html" },
    })
  );
  for (
    const kind of [
      "ollama",
      "lmstudio",
      "llama-server",
      "vllm",
      "openai-compatible",
    ] as const
  ) {
    await using setup = await setUpUpstreams({ kind, url: server.url });
    assert.deepEqual(setup.router.models(), []);
    const { availability } = setup.router.standing()[0]?.engines[0] ?? {};
    assert.equal(availability?.kind, "unavailable");
    assert.match(JSON.stringify(availability), /is not/);
  }
});

Deno.test("Ollama's models are offered with what the server says of them", async () => {
  await using server = startFakeOllama();
  await using setup = await setUpUpstreams({
    kind: "ollama",
    url: server.url,
  });
  const offers = setup.upstreams.engines()[0]?.view().offers ?? [];
  assert.deepEqual(
    offers.map((
      { capabilities, contextLength, features, model, queue, state },
    ) => [
      model,
      capabilities,
      features,
      contextLength,
      state.kind,
      queue.slots,
    ]),
    [
      [
        "mymodel:latest",
        ["chat", "completion"],
        ["json_schema", "tools"],
        4_096,
        "warm",
        1,
      ],
      ["big:70b", ["chat", "completion"], ["json_schema"], 8_192, "cold", 1],
      ["nomic:latest", ["embedding"], [], 2_048, "cold", 1],
    ],
  );
  await setup.upstreams.look();
  assert.equal(server.callsOf("/api/show").length, 3, "shown once each");
  const changing = server.calls.filter(({ method, path }) =>
    method === "DELETE" || path === "/api/pull" || path === "/api/generate"
  );
  assert.deepEqual(changing, []);
});

Deno.test("old servers' embedding models are known by family or name", async () => {
  await using server = startFakeOllama([
    { name: "odd:latest", family: "nomic-bert" },
    { name: "mxbai-embed-large:latest" },
    { name: "llama3.2:latest" },
  ]);
  await using setup = await setUpUpstreams({ kind: "ollama", url: server.url });
  assert.deepEqual(
    setup.upstreams.engines()[0]?.view().offers.map((one) => one.capabilities),
    [["embedding"], ["embedding"], ["chat", "completion"]],
  );
});

Deno.test("a bare name finds name:latest and nothing else (MOD-01)", async () => {
  await using server = startFakeOllama();
  await using setup = await setUpUpstreams({ kind: "ollama", url: server.url });
  for (const model of ["mymodel", "mymodel:latest"]) {
    assert.match((await setup.ask({ model })).text, /one/);
  }
  for (const model of ["big", "big:latest"]) {
    await assert.rejects(
      setup.ask({ model }),
      (error) => error instanceof Fault && error.code === "model_not_found",
    );
  }
  const asked = server.callsOf("/v1/chat/completions").map(({ body }) =>
    body.model
  );
  assert.deepEqual(asked, ["mymodel:latest", "mymodel:latest"]);
});

Deno.test("llama-server tells slots and context, LM Studio kind and load state", async () => {
  await using llama = startUpstreamServer(({ path }) => {
    if (path === "/props") {
      return Response.json({
        total_slots: 4,
        default_generation_settings: { n_ctx: 8_192 },
        modalities: { vision: false },
      });
    }
    return path === "/v1/models"
      ? Response.json({ data: [{ id: "a", meta: { size: 1e9 } }] })
      : undefined;
  });
  await using lmstudio = startUpstreamServer(({ path }) =>
    path === "/api/v0/models"
      ? Response.json({
        object: "list",
        data: [
          {
            id: "see",
            type: "vlm",
            state: "loaded",
            max_context_length: 9_000,
            loaded_context_length: 4_096,
          },
          { id: "e", type: "embeddings", state: "not-loaded" },
        ],
      })
      : undefined
  );
  await using one = await setUpUpstreams({
    kind: "llama-server",
    url: llama.url,
  });
  await using other = await setUpUpstreams({
    kind: "lmstudio",
    url: lmstudio.url,
  });
  const [a] = one.upstreams.engines()[0]?.view().offers ?? [];
  assert.deepEqual([a?.queue.slots, a?.contextLength, a?.sizeBytes], [
    4,
    8_192,
    1e9,
  ]);
  assert(a?.features.includes("vision") === false);
  const [see, e] = other.upstreams.engines()[0]?.view().offers ?? [];
  assert.deepEqual([see?.state.kind, see?.contextLength, see?.features], [
    "warm",
    4_096,
    ["json_schema", "tools", "vision"],
  ]);
  assert.deepEqual([e?.state.kind, e?.capabilities], ["cold", ["embedding"]]);
});

Deno.test("a 429 rests the engine for its Retry-After and no call goes there meanwhile (RET-01, RET-04)", async () => {
  let isBusy = true;
  await using server = startUpstreamServer((call) => {
    if (call.path === "/v1/models") {
      return Response.json({ data: [{ id: "m" }] });
    }
    if (!isBusy) return openAiAnswer(call);
    return Response.json({ error: { message: "busy" } }, {
      status: 429,
      headers: { "retry-after": "7" },
    });
  });
  await using setup = await setUpUpstreams({ kind: "vllm", url: server.url });
  const ask = () =>
    setup.ask().then(({ status }) => status, (error: Fault) => error);
  await ask();
  const told = await ask();
  assert(told instanceof Fault && told.code === "cooling_down");
  assert((told.retryAfterMs ?? 0) > 0 && (told.retryAfterMs ?? 0) <= 7_000);
  assert.equal(server.callsOf("/v1/chat/completions").length, 1);
  isBusy = false;
  await setup.clock.advance(7_500);
  assert.equal(await ask(), 200);
});

Deno.test("a 429 with two Retry-After headers, or one of nonsense, rests the engine for the usual time, as its standing shows (RET-01)", async () => {
  for (const said of [["3", "5"], ["-3"], ["1.5"], ["soon"], [""]]) {
    await using server = await startRawUpstream(["m"], async (one) => {
      const headers = said.map((value) => `Retry-After: ${value}\r\n`).join("");
      await one.write(
        `HTTP/1.1 429 Too Many\r\n${headers}content-length: 2\r\n\r\n{}`,
      );
      one.end();
    });
    await using setup = await setUpUpstreams({
      kind: "vllm",
      url: server.url,
    });
    const restsForMs = () => setup.router.standing()[0]?.engines[0]?.restsForMs;
    await assert.rejects(setup.ask(), { code: "cooling_down" });
    assert.equal(restsForMs(), 30_000, said.join(" and "));
    await setup.clock.advance(29_000);
    await assert.rejects(setup.ask(), { code: "cooling_down" });
    assert.equal(server.calls.length, 1, "not asked before");
    await setup.clock.advance(1_000);
    await assert.rejects(setup.ask(), { code: "cooling_down" });
    assert.equal(server.calls.length, 2);
  }
});

Deno.test("a caller who leaves ends the connection to the server", async () => {
  const left = Promise.withResolvers<void>();
  await using server = startUpstreamServer((call) => {
    if (call.path === "/v1/models") {
      return Response.json({ data: [{ id: "m" }] });
    }
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(
          'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n',
        ));
      },
      cancel: () => left.resolve(),
    });
    return new Response(body, {
      headers: { "content-type": "text/event-stream" },
    });
  });
  await using setup = await setUpUpstreams({ kind: "vllm", url: server.url });
  const engine = setup.upstreams.engines()[0];
  const caller = new AbortController();
  const { chatRequest } = await import("../../fakes/chat_request.ts");
  const answer = await setup.router.route(chatRequest(), caller.signal);
  const reader = answer.body.getReader();
  await reader.read();
  caller.abort();
  await left.promise;
  await reader.cancel();
  assert.equal(engine?.view().availability.kind, "available");
});

Deno.test("one failed refresh keeps the models, a long outage does not, and a restart is noticed (RTE-06)", async () => {
  let isDown = false;
  await using server = startUpstreamServer(({ path }) => {
    if (isDown) return new Response(null, { status: 503 });
    return path === "/v1/models"
      ? Response.json({ data: [{ id: "m" }] })
      : undefined;
  });
  await using setup = await setUpUpstreams({ kind: "vllm", url: server.url });
  const models = () => setup.router.models().map(({ model }) => model);
  isDown = true;
  await setup.upstreams.look();
  assert.deepEqual(models(), ["m"]);
  const [engine] = setup.upstreams.engines();
  assert.equal(engine?.view().availability.kind, "degraded");
  await setup.upstreams.look();
  await setup.upstreams.look();
  assert.deepEqual(models(), []);
  isDown = false;
  await setup.upstreams.look();
  assert.deepEqual(models(), ["m"]);
});

Deno.test("an engine whose list is green and whose answers fail is taken out (PRC-06)", async () => {
  await using server = startUpstreamServer(({ path }) =>
    path === "/v1/models"
      ? Response.json({ data: [{ id: "m" }] })
      : Response.json({ error: { message: "GPU fault" } }, { status: 500 })
  );
  await using setup = await setUpUpstreams({ kind: "vllm", url: server.url });
  for (let n = 0; n < 8; n++) {
    await setup.ask().catch((error) => assert(error instanceof Fault));
    await setup.upstreams.look();
  }
  const standing = setup.router.standing()[0]?.engines[0];
  assert.equal(standing?.breaker, "open");
  assert.equal(server.callsOf("/v1/chat/completions").length, 5);
});

Deno.test("rerankers are known by name, and alone asked to rank (EMB-04)", async () => {
  await using server = startFakeVllm(["chat-8b", "BAAI/bge-reranker-v2-m3"]);
  await using setup = await setUpUpstreams({ kind: "vllm", url: server.url });
  const [chat, ranker] = setup.upstreams.engines()[0]?.view().offers ?? [];
  assert.deepEqual(chat?.capabilities, ["chat", "completion"]);
  assert.deepEqual(ranker?.capabilities, ["rerank"]);
  const ranks = {
    capability: "rerank",
    stream: false,
    body: { query: "red fox", documents: ["a crow", "a red fox"] },
    inputCount: 2,
  } as const;
  const answer = await setup.ask({ ...ranks, model: ranker?.model ?? "" });
  assert.equal(answer.status, 200);
  assert.deepEqual(
    JSON.parse(answer.text).results.map(({ index }: { index: number }) =>
      index
    ),
    [1, 0],
  );
  const [asked] = server.callsOf("/v1/rerank");
  assert.deepEqual(asked?.body, { ...ranks.body, model: ranker?.model });
  for (
    const wrong of [
      { ...ranks, model: "chat-8b" },
      { model: ranker?.model ?? "" },
    ]
  ) {
    await assert.rejects(
      setup.ask(wrong),
      (error) => error instanceof Fault && error.code === "wrong_capability",
    );
  }
  assert.equal(server.callsOf("/v1/rerank").length, 1);
  assert.equal(server.callsOf("/v1/chat/completions").length, 0);
});
