import assert from "node:assert/strict";
import { zstdCompressSync } from "node:zlib";
import {
  apiUnderTest,
  CHAT,
  CHAT_ANSWER,
  errorOf,
  get,
  LOOPBACK,
  post,
} from "./api_under_test.ts";
import { until } from "../fakes/simulated_pair.ts";

const PATH = "/v1/chat/completions";
const KIB = 1024;

async function compressed(
  text: string | Uint8Array<ArrayBuffer>,
  format: CompressionFormat,
): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([text]).stream()
    .pipeThrough(new CompressionStream(format));
  return await new Response(stream).bytes();
}

Deno.test("handle refuses bodies that are no chat request, naming what is wrong", async () => {
  const { api, router } = apiUnderTest();
  const message = { role: "user", content: "x" };
  const table: readonly [unknown, string | null, RegExp][] = [
    ["", null, /empty/],
    ["   ", null, /empty/],
    ["{", null, /key.*the end.*offset 1/],
    ['{"model":"m",}', null, /key in double quotes.*"}".*column 14/],
    ['{"a":1}\n{"b":2}', null, /the end.*line 2, column 1/],
    ['{"a":undefined}', null, /a value.*"u".*offset 5/],
    ['{"a":"\\x"}', null, /valid escape/],
    ['{"a":"tab\there"}', null, /escaped control character/],
    ["[]", null, /an array; send a JSON object/],
    ["null", null, /null; send/],
    ['"text"', null, /a string; send/],
    [new Uint8Array([0x7b, 0xff, 0x7d]), null, /UTF-8/],
    [`{"a":${"[".repeat(600)}${"]".repeat(600)}}`, null, /512 levels/],
    [{ messages: [message] }, "model", /must be a string/],
    [{ ...CHAT, model: 7 }, "model", /must be a string/],
    [{ ...CHAT, model: "" }, "model", /must not be empty/],
    [{ ...CHAT, model: "x".repeat(10_000) }, "model", /at most 512/],
    [{ model: "m" }, "messages", /non-empty array/],
    [{ ...CHAT, messages: [] }, "messages", /non-empty array/],
    [{ ...CHAT, messages: ["x"] }, "messages[0]", /message object/],
    [{ ...CHAT, messages: [{ content: "x" }] }, "messages[0].role", /string/],
    [
      { ...CHAT, messages: [message, { role: "user", content: 5 }] },
      "messages[1].content",
      /content parts/,
    ],
    [
      { ...CHAT, messages: [message, { role: "assistant", content: null }] },
      "messages[1]",
      /content or tool_calls/,
    ],
    [{ ...CHAT, stream: "yes" }, "stream", /true or false/],
    [{ ...CHAT, max_tokens: 0 }, "max_tokens", /at least 1/],
    [{ ...CHAT, max_tokens: 1.5 }, "max_tokens", /at least 1/],
    [{ ...CHAT, stop: 3 }, "stop", /string or an array/],
    [{ ...CHAT, temperature: "hot" }, "temperature", /number/],
    [{ ...CHAT, n: 0 }, "n", /at least 1/],
    [{ ...CHAT, tools: {} }, "tools", /array of tools/],
    [{ ...CHAT, logit_bias: [1] }, "logit_bias", /token ids and numbers/],
    [{ ...CHAT, logit_bias: "a" }, "logit_bias", /token ids and numbers/],
    [
      { ...CHAT, stream_options: { include_usage: 1 } },
      "stream_options.include_usage",
      /true or false/,
    ],
    [{ ...CHAT, source: "moon" }, "source", /"local", "cluster"/],
    [{ ...CHAT, source: { a: 1 } }, "source", /"local", "cluster"/],
  ];
  for (const [body, param, message] of table) {
    const response = await api.handle(post(PATH, body), LOOPBACK);
    const label = JSON.stringify(body).slice(0, 80);
    assert.equal(response.status, 400, label);
    assert.equal(response.headers.get("content-type"), "application/json");
    const error = await errorOf(response);
    assert.match(error.message, message, label);
    assert.equal(error.param, param, label);
    assert.equal(error.type, "invalid_request_error");
    assert.equal(error.origin, "covey");
  }
  assert.equal(router.requests.length, 0);
});

Deno.test("REQ-04 handle reads JSON under the content types that clients send it with", async () => {
  const { api, router } = apiUnderTest();
  router.answer = () => ({ body: CHAT_ANSWER });
  const types = [
    "application/json; charset=utf-8",
    "application/JSON",
    "text/plain",
    "text/plain;charset=UTF-8",
    "application/x-www-form-urlencoded",
    "application/vnd.api+json",
  ];
  for (const type of types) {
    const response = await api.handle(
      post(PATH, CHAT, { "content-type": type }),
      LOOPBACK,
    );
    assert.equal(response.status, 200, type);
    await response.body?.cancel();
  }
  const bare = post(PATH, CHAT);
  bare.headers.delete("content-type");
  const response = await api.handle(bare, LOOPBACK);
  assert.equal(response.status, 200);
  await response.body?.cancel();

  for (const type of ["multipart/form-data; boundary=x", "image/png"]) {
    const refused = await api.handle(
      post(PATH, CHAT, { "content-type": type }),
      LOOPBACK,
    );
    assert.equal(refused.status, 415, type);
    const error = await errorOf(refused);
    assert.match(error.message, /content-type.*application\/json/);
  }
});

Deno.test("REQ-03 handle reads compressed bodies and refuses what is no such body", async () => {
  const { api, router } = apiUnderTest();
  router.answer = () => ({ body: CHAT_ANSWER });
  const text = JSON.stringify(CHAT);
  const good: readonly [string, Uint8Array<ArrayBuffer>][] = [
    ["gzip", await compressed(text, "gzip")],
    ["GZIP", await compressed(text, "gzip")],
    ["deflate", await compressed(text, "deflate")],
    ["br", await compressed(text, "brotli")],
    ["zstd", new Uint8Array(zstdCompressSync(text))],
    ["identity", new TextEncoder().encode(text)],
  ];
  for (const [coding, bytes] of good) {
    const response = await api.handle(
      post(PATH, bytes, { "content-encoding": coding }),
      LOOPBACK,
    );
    assert.equal(response.status, 200, coding);
    await response.body?.cancel();
    assert.deepEqual(router.requests.at(-1)?.body.messages, CHAT.messages);
  }
  const whole = await compressed(text, "gzip");
  const bad: readonly [string, Uint8Array<ArrayBuffer>, number, RegExp][] = [
    ["gzip", whole.subarray(0, whole.length - 9), 400, /no whole "gzip"/],
    ["gzip", new TextEncoder().encode(text), 400, /no whole "gzip"/],
    ["zstd", whole, 400, /no whole "zstd"/],
    ["compress", whole, 415, /"compress"; accepted are identity, gzip/],
    ["gzip, gzip", whole, 415, /"gzip, gzip"/],
  ];
  for (const [coding, bytes, status, message] of bad) {
    const response = await api.handle(
      post(PATH, bytes, { "content-encoding": coding }),
      LOOPBACK,
    );
    assert.equal(response.status, status, coding);
    assert.match((await errorOf(response)).message, message);
  }
});

Deno.test("REQ-03 handle stops unfolding a body at the limit", async () => {
  const { api } = apiUnderTest({ bodyLimitBytes: 64 * KIB });
  const zeros = new Uint8Array(8 * KIB * KIB);
  const bombs: readonly [string, Uint8Array<ArrayBuffer>][] = [
    ["gzip", await compressed(zeros, "gzip")],
    ["br", await compressed(zeros, "brotli")],
    ["zstd", new Uint8Array(zstdCompressSync(zeros))],
  ];
  for (const [coding, bytes] of bombs) {
    assert.ok(bytes.length < 64 * KIB);
    const response = await api.handle(
      post(PATH, bytes, { "content-encoding": coding }),
      LOOPBACK,
    );
    assert.equal(response.status, 413, coding);
    assert.match((await errorOf(response)).message, /limit of 65536 bytes/);
  }
});

Deno.test("handle refuses an oversized body by its declared and by its real length", async () => {
  const { api } = apiUnderTest({ bodyLimitBytes: KIB });
  const declared = post(PATH, CHAT, { "content-length": "4096" });
  assert.equal((await api.handle(declared, LOOPBACK)).status, 413);

  let pulls = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      pulls++;
      controller.enqueue(new Uint8Array(512).fill(0x20));
    },
  });
  const response = await api.handle(post(PATH, endless), LOOPBACK);
  assert.equal(response.status, 413);
  assert.ok(pulls < 8, `${pulls} chunks were read`);
});

Deno.test("handle gives up on a body that stops arriving, and on one that only trickles", async () => {
  const { api, clock } = apiUnderTest();
  let cancelled = false;
  const silent = new ReadableStream<Uint8Array>({
    cancel() {
      cancelled = true;
    },
  });
  const stalled = api.handle(post(PATH, silent), LOOPBACK);
  const response = await until(clock, stalled, 10_000);
  assert.equal(response.status, 408);
  assert.match((await errorOf(response)).message, /did not go on within 60 s/);
  assert.ok(cancelled);

  let sink: ReadableStreamDefaultController<Uint8Array> | undefined;
  const trickle = new ReadableStream<Uint8Array>({
    start(controller) {
      sink = controller;
    },
  });
  const slow = api.handle(post(PATH, trickle), LOOPBACK);
  for (let passed = 0; passed < 300; passed += 50) {
    sink?.enqueue(new Uint8Array([0x20]));
    await clock.advance(50_000);
  }
  const late = await slow;
  assert.equal(late.status, 408);
  assert.match((await errorOf(late)).message, /did not arrive within 300 s/);
  assert.equal(clock.pending, 0);
});

Deno.test("handle gives a body that says that it is small one deadline, and no more than it may hold", async () => {
  const { api, clock } = apiUnderTest({ bodyLimitBytes: KIB });
  const silent = new ReadableStream<Uint8Array>();
  const stalled = api.handle(
    post(PATH, silent, { "content-length": "200" }),
    LOOPBACK,
  );
  await clock.advance(60_000);
  const late = await stalled;
  assert.equal(late.status, 408);
  assert.match((await errorOf(late)).message, /did not arrive within 60 s/);
  assert.equal(clock.pending, 0);

  const lying = post(PATH, "x".repeat(2 * KIB), { "content-length": "200" });
  assert.equal((await api.handle(lying, LOOPBACK)).status, 413);

  const torn = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.error(new TypeError("connection reset")),
  });
  const response = await api.handle(
    post(PATH, torn, { "content-length": "200" }),
    LOOPBACK,
  );
  assert.equal(response.status, 400);
  assert.match((await errorOf(response)).message, /broke off/);
});

Deno.test("handle says that a body broke off when its connection did", async () => {
  const { api } = apiUnderTest();
  const broken = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.error(new TypeError("connection reset"));
    },
  });
  const response = await api.handle(post(PATH, broken), LOOPBACK);
  assert.equal(response.status, 400);
  assert.match((await errorOf(response)).message, /broke off/);
});

Deno.test("AUD-01 a body that trickles in holds on to none of the buffers it came in", async () => {
  const { api, router } = apiUnderTest();
  router.answer = () => ({ body: "{}" });
  const text = new TextEncoder().encode(
    '{"model":"m","messages":[{"role":"user","content":"Hello"}]}',
  );
  // Each byte comes in the same buffer: who keeps that instead of a copy reads it wrong.
  const buffer = new Uint8Array(65_536);
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const byte = text[at++];
      if (byte === undefined) return controller.close();
      buffer[0] = byte;
      controller.enqueue(buffer.subarray(0, 1));
    },
  }, { highWaterMark: 0 });
  const response = await api.handle(
    get("/v1/chat/completions", { method: "POST", body }),
    LOOPBACK,
  );
  assert.equal(response.status, 200);
  await response.body?.cancel();
  assert.equal(router.requests.length, 1);
});
