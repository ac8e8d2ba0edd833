import assert from "node:assert/strict";
import { brotliCompressSync } from "node:zlib";
import { startFakeOllama } from "../../fakes/fake_ollama.ts";
import { startUpstreamServer } from "../../fakes/upstream_server.ts";
import { setUpUpstreams } from "./upstream_setup.ts";

const JSON_TYPE = { "content-type": "application/json" };

async function gzipped(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const zipped = new Blob([text]).stream().pipeThrough(
    new CompressionStream("gzip"),
  );
  return new Uint8Array(await new Response(zipped).arrayBuffer());
}

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
  const counted = (kind: string) =>
    setup.metrics.counts.get(`covey_tokens_total{kind=${kind}}`);
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
  assert.deepEqual([counted("prompt"), counted("output")], [10, 4]);
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
