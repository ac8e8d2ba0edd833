import assert from "node:assert/strict";
import { Fault } from "../../src/domain/mod.ts";
import {
  type HttpCall,
  type HttpClient,
  type HttpReply,
  replyOf,
} from "../../src/engines/http_client.ts";
import { dispatchHttp } from "../../src/engines/http_dispatch.ts";
import { createUnixHttpClient } from "../../src/engines/plain_http/plain_client.ts";
import { createSystemClock } from "../../src/platform/mod.ts";
import { buildAttempt } from "../fakes/attempt_builder.ts";

const never = new AbortController().signal;

/** A server that answers every call alike, remembering it. */
class FixedClient implements HttpClient {
  readonly calls: HttpCall[] = [];
  readonly #response: () => Response;

  constructor(response: () => Response) {
    this.#response = response;
  }

  post(call: HttpCall): Promise<HttpReply> {
    this.calls.push(call);
    return Promise.resolve(replyOf(this.#response()));
  }

  [Symbol.dispose]() {}
}

Deno.test("dispatchHttp asks the engine in its own words by capability", async () => {
  const cases = [
    [
      { stream: true, body: { stream: false, stream_options: { x: 1 }, n: 1 } },
      "/v1/chat/completions",
      {
        n: 1,
        model: "m",
        stream: true,
        stream_options: { include_usage: true },
      },
    ],
    [
      { capability: "completion", stream: false, body: { prompt: "p" } },
      "/v1/completions",
      { prompt: "p", model: "m", stream: false },
    ],
    [
      {
        capability: "embedding",
        stream: false,
        body: { model: "alias", input: "i" },
      },
      "/v1/embeddings",
      { model: "m", input: "i" },
    ],
  ] as const;
  for (const [request, path, body] of cases) {
    const client = new FixedClient(() => Response.json({}));
    const answer = await dispatchHttp(
      { client, headers: { authorization: "Bearer t" }, died: never },
      buildAttempt("m", request),
      never,
      () => {},
    );
    await answer.body.cancel();
    const [call] = client.calls;
    assert.equal(call?.path, path);
    assert.deepEqual(JSON.parse(String(call?.body ?? "")), body);
    assert.equal(call?.headers.authorization, "Bearer t");
  }
});

Deno.test("dispatchHttp passes statuses, bytes and Retry-After through untouched", async () => {
  const client = new FixedClient(() =>
    new Response('{"error":1 }', {
      status: 429,
      headers: { "retry-after": "7", "content-type": "application/problem" },
    })
  );
  let ends = 0;
  const answer = await dispatchHttp(
    { client, headers: {}, died: never },
    buildAttempt("m"),
    never,
    () => ends++,
  );
  const { status, retryAfter, contentType } = answer;
  assert.deepEqual([status, retryAfter, contentType], [
    429,
    "7",
    "application/problem",
  ]);
  assert.equal(ends, 0);
  assert.equal(await new Response(answer.body).text(), '{"error":1 }');
  assert.equal(ends, 1);
});

Deno.test("dispatchHttp ends a body in an error when its engine died, however the connection closed", async () => {
  const death = new AbortController();
  const fault = new Fault("engine_failed", "The engine was killed");
  const client = new FixedClient(() =>
    new Response(
      new ReadableStream({
        pull(controller) {
          controller.enqueue(new TextEncoder().encode("data: {}\n\n"));
          controller.close();
          death.abort(fault);
        },
      }, { highWaterMark: 0 }),
    )
  );
  const answer = await dispatchHttp(
    { client, headers: {}, died: death.signal },
    buildAttempt("m"),
    never,
    () => {},
  );
  const reader = answer.body.getReader();
  assert.equal((await reader.read()).value?.length, 10);
  await assert.rejects(reader.read(), (error) => error === fault);
});

Deno.test("dispatchHttp ends once when its caller leaves and nobody reads on", async () => {
  const caller = new AbortController();
  let ends = 0;
  const client = new FixedClient(() => new Response("body"));
  const answer = await dispatchHttp(
    { client, headers: {}, died: never },
    buildAttempt("m"),
    caller.signal,
    () => ends++,
  );
  caller.abort();
  assert.equal(ends, 1);
  await answer.body.cancel();
  assert.equal(ends, 1);
});

Deno.test("dispatchHttp talks over a real Unix socket, stopping the server's work when the body is cancelled", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/s`;
  const left = Promise.withResolvers<void>();
  const server = Deno.serve({ path, onListen() {} }, async (request) => {
    const asked = await request.json();
    const text = JSON.stringify(asked);
    return new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(text));
        },
        cancel: () => left.resolve(),
      }),
      { headers: { "content-type": "text/event-stream" } },
    );
  });
  try {
    using client = createUnixHttpClient(path, createSystemClock());
    const answer = await dispatchHttp(
      { client, headers: {}, died: never },
      buildAttempt("m"),
      never,
      () => {},
    );
    assert.equal(answer.contentType, "text/event-stream");
    const reader = answer.body.getReader();
    const { value } = await reader.read();
    assert.equal(JSON.parse(new TextDecoder().decode(value)).model, "m");
    await reader.cancel();
    await left.promise;
  } finally {
    await server.shutdown();
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("dispatchHttp reports an engine that can not be reached without its path", async () => {
  using client = createUnixHttpClient(
    "/nonexistent/covey.sock",
    createSystemClock(),
  );
  let ends = 0;
  await assert.rejects(
    dispatchHttp(
      { client, headers: {}, died: never },
      buildAttempt("m"),
      never,
      () => ends++,
    ),
    (error) =>
      error instanceof Fault && error.code === "engine_failed" &&
      error.origin === "engine" &&
      error.message === "The engine's server can not be reached",
  );
  assert.equal(ends, 1);
});

Deno.test("dispatchHttp says of an answer that is no HTTP what it begins with", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/s`;
  const listener = Deno.listen({ transport: "unix", path });
  const serving = (async () => {
    using connection = await listener.accept();
    await connection.read(new Uint8Array(4096));
    await connection.write(new TextEncoder().encode("+OK ready\r\n\r\n"));
  })();
  try {
    using client = createUnixHttpClient(path, createSystemClock());
    await assert.rejects(
      dispatchHttp(
        { client, headers: {}, died: never },
        buildAttempt("m"),
        never,
        () => {},
      ),
      (error) =>
        error instanceof Fault && error.code === "engine_failed" &&
        error.message ===
          'The engine\'s answer can not be read: No HTTP/1.1 answer begins with "+OK ready"',
    );
  } finally {
    await serving;
    listener.close();
    await Deno.remove(folder, { recursive: true });
  }
});
