import assert from "node:assert/strict";
import { brotliCompressSync } from "node:zlib";
import { Fault } from "../../../src/domain/mod.ts";
import { parseUpstreamUrl } from "../../../src/engines/upstream/upstream_url.ts";
import { startFakeOllama } from "../../fakes/fake_ollama.ts";
import { startFakeVllm } from "../../fakes/fake_vllm.ts";
import {
  openAiAnswer,
  startUpstreamServer,
} from "../../fakes/upstream_server.ts";
import { setUpUpstreams } from "./upstream_setup.ts";

const JSON_TYPE = { "content-type": "application/json" };

async function gzipped(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const zipped = new Blob([text]).stream().pipeThrough(
    new CompressionStream("gzip"),
  );
  return new Uint8Array(await new Response(zipped).arrayBuffer());
}

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
    const kind of ["ollama", "lmstudio", "llama-server", "vllm"] as const
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

Deno.test("tool arguments go to Ollama as the text that its OpenAI route takes (TRN-04)", async () => {
  await using server = startFakeOllama();
  await using setup = await setUpUpstreams({ kind: "ollama", url: server.url });
  const messages = [{
    role: "assistant",
    tool_calls: [{
      id: "c",
      type: "function",
      function: { name: "f", arguments: '{"a":1}' },
    }],
  }, { role: "tool", tool_call_id: "c", content: "2" }];
  await setup.ask({ model: "mymodel", body: { messages } });
  const [call] = server.callsOf("/v1/chat/completions");
  assert.deepEqual(call?.body.messages, messages);
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

Deno.test("compressed answers arrive readable, errors too, without the server's encoding (REQ-06)", async () => {
  const listed = await gzipped(JSON.stringify({ data: [{ id: "m" }] }));
  const answer = await gzipped(
    '{"choices":[{"message":{"content":"hi"}}],"usage":{"completion_tokens":1}}',
  );
  const busy = await gzipped('{"error":{"message":"too busy"}}');
  let isBusy = false;
  await using server = startUpstreamServer(({ path }) => {
    const body = path === "/v1/models" ? listed : isBusy ? busy : answer;
    return new Response(body, {
      status: isBusy && path !== "/v1/models" ? 429 : 200,
      headers: {
        ...JSON_TYPE,
        "content-encoding": "gzip",
        "content-length": String(body.length),
      },
    });
  });
  await using setup = await setUpUpstreams({
    kind: "openai-compatible",
    url: server.url,
  });
  const fine = await setup.ask({ stream: false });
  assert.deepEqual([fine.status, JSON.parse(fine.text).choices.length], [
    200,
    1,
  ]);
  isBusy = true;
  const refused = await setup.ask({ stream: false }).then(
    ({ text }) => text,
    (error: Error) => error.message,
  );
  assert.match(refused, /busy|rest/);
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

Deno.test("comments of a server are no content (SSE-03)", async () => {
  await using server = startUpstreamServer((call) => {
    if (call.path === "/v1/models") {
      return Response.json({ data: [{ id: "m" }] });
    }
    const text =
      ': OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n:\n\ndata: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n:\n\ndata: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
    return new Response(text, {
      headers: { "content-type": "text/event-stream" },
    });
  });
  await using setup = await setUpUpstreams({ kind: "vllm", url: server.url });
  const { text } = await setup.ask();
  assert.doesNotMatch(text, /^data: :/m);
  assert.match(text, /"content":"a"/);
  assert.match(text, /data: \[DONE\]\n\n$/);
});

Deno.test("a stream that breaks off, however, ends in an error event without a reason to finish (SSE-04)", async () => {
  const delta = 'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n';
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
  const endings: Record<string, string> = {
    "end without [DONE]": `${head}connection: close\r\n\r\n${delta}`,
    "end inside a chunk": `${head}transfer-encoding: chunked\r\n\r\n${
      chunk(delta)
    }40\r\ndata: {`,
    "last chunk without [DONE]": `${head}transfer-encoding: chunked\r\n\r\n${
      chunk(delta)
    }0\r\n\r\n`,
  };
  for (const [what, bytes] of Object.entries(endings)) {
    await using server = rawServer(bytes);
    await using setup = await setUpUpstreams({ kind: "vllm", url: server.url });
    const { text } = await setup.ask();
    assert.match(text, /"content":"x"/, what);
    assert.match(text, /"error":/, what);
    assert.doesNotMatch(text, /finish_reason":"|\[DONE\]/, what);
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

/** A server of one fixed list, and bytes without any grammar to every other request. */
function rawServer(bytes: string): AsyncDisposable & { readonly url: string } {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const list = '{"data":[{"id":"m"}]}';
  const serving = (async () => {
    for await (const connection of listener) {
      const buffer = new Uint8Array(65_536);
      const length = await connection.read(buffer) ?? 0;
      const request = new TextDecoder().decode(buffer.subarray(0, length));
      const reply = request.startsWith("GET")
        ? `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${list.length}\r\n\r\n${list}`
        : bytes;
      await connection.write(new TextEncoder().encode(reply));
      connection.close();
    }
  })();
  return {
    url: `http://127.0.0.1:${listener.addr.port}`,
    async [Symbol.asyncDispose]() {
      listener.close();
      await serving;
    },
  };
}

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

Deno.test("several answers are asked of servers that give them, and refused by name where none does", async () => {
  const choice = (index: number) => ({
    index,
    message: { role: "assistant", content: `answer ${index}` },
    finish_reason: "stop",
  });
  await using server = startUpstreamServer(({ path }) =>
    path === "/v1/models"
      ? Response.json({ data: [{ id: "m" }] })
      : Response.json({ choices: [choice(0), choice(1)] })
  );
  await using setup = await setUpUpstreams({
    kind: "openai-compatible",
    url: server.url,
  });
  const messages = [{ role: "user", content: "Hi" }];
  const several = {
    stream: false,
    needs: ["n"],
    body: { messages, n: 2 },
  } as const;
  const { text } = await setup.ask({ ...several, model: "m" });
  assert.equal(JSON.parse(text).choices.length, 2);
  assert.equal(server.callsOf("/v1/chat/completions")[0]?.body.n, 2);

  await using ollama = startFakeOllama();
  await using other = await setUpUpstreams({ kind: "ollama", url: ollama.url });
  await assert.rejects(
    other.ask({ ...several, model: "mymodel" }),
    (error) => error instanceof Fault && /lacks n\b/.test(error.message),
  );
  assert.equal(ollama.callsOf("/v1/chat/completions").length, 0);
});

Deno.test("SSE-08 who asks for usage gets one chunk of it from Ollama too, who does not gets none, and it is counted", async () => {
  const delta = (content: string) =>
    `data: ${
      JSON.stringify({ choices: [{ index: 0, delta: { content } }] })
    }\n\n`;
  const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
  const stream = delta("a") + `data: {"object":"odd"}\n\n` + delta("b") +
    'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n' +
    `data: ${JSON.stringify({ usage })}\n\n` +
    `data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`;
  await using ollama = startFakeOllama();
  await using server = startUpstreamServer(async (call) => {
    if (call.path === "/v1/chat/completions") {
      return new Response(stream, {
        headers: { "content-type": "text/event-stream" },
      });
    }
    return await fetch(`${ollama.url}${call.path}`, {
      method: call.method,
      ...(call.body === null ? {} : { body: JSON.stringify(call.body) }),
    });
  });
  await using setup = await setUpUpstreams({ kind: "ollama", url: server.url });
  for (const includeUsage of [true, false]) {
    const { text } = await setup.ask({ model: "mymodel", includeUsage });
    const { stream_options: asked } =
      server.callsOf("/v1/chat/completions").at(-1)?.body ?? {};
    assert.deepEqual(asked, { include_usage: true }, "for Covey's own account");
    const events = text.split("\n\n").filter((one) => one.startsWith("data: "))
      .map((one) => one.slice("data: ".length));
    assert.equal(events.pop(), "[DONE]");
    const parsed = events.map((one) => JSON.parse(one));
    const withUsage = parsed.filter((one) => "usage" in one);
    if (!includeUsage) {
      assert.deepEqual(withUsage, []);
      assert(parsed.every((one) => one.choices?.length !== 0));
      continue;
    }
    assert.equal(withUsage.length, 1);
    assert.equal(parsed.at(-1), withUsage[0], "the last before the end");
    assert.deepEqual(withUsage[0].choices, []);
    assert.deepEqual(withUsage[0].usage, usage);
  }
});

Deno.test("REQ-06 brotli and errors of a server arrive readable, with their status and words", async () => {
  const error = await gzipped('{"error":{"message":"no such voice"}}');
  const list = brotliCompressSync('{"data":[{"id":"m"}]}');
  await using server = startUpstreamServer(({ path }) => {
    const isList = path === "/v1/models";
    const body = new Uint8Array(isList ? list : error);
    return new Response(body, {
      status: isList ? 200 : 400,
      headers: {
        ...JSON_TYPE,
        "content-encoding": isList ? "br" : "gzip",
        "content-length": String(body.length),
      },
    });
  });
  await using setup = await setUpUpstreams({ kind: "vllm", url: server.url });
  const { status, text } = await setup.ask({ stream: false });
  assert.equal(status, 400);
  assert.deepEqual(JSON.parse(text), { error: { message: "no such voice" } });
});
