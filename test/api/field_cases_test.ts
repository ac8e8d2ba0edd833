import assert from "node:assert/strict";
import { openListeners } from "../../src/api/mod.ts";
import { Fault, type ModelPulls } from "../../src/domain/mod.ts";
import { createSystemClock } from "../../src/platform/mod.ts";
import { QuietLog } from "../fakes/quiet_log.ts";
import { apiUnderTest, CHAT, LOOPBACK, post, SELF } from "./api_under_test.ts";
import { chunk, DONE } from "./dialect/streams.ts";

const MESSAGES = { model: "m", messages: CHAT.messages };
/** Every route that streams, with a body that asks for it. */
const STREAMING: readonly (readonly [string, object])[] = [
  ["/v1/chat/completions", { ...MESSAGES, stream: true }],
  ["/v1/completions", { model: "m", prompt: "a", stream: true }],
  ["/v1/responses", { model: "m", input: "a", stream: true }],
  ["/v1/messages", { ...MESSAGES, max_tokens: 9, stream: true }],
  ["/api/chat", MESSAGES],
  ["/api/generate", { model: "m", prompt: "a" }],
  ["/api/pull", { model: "org/repo" }],
  ["/covey/pulls", { source: "org/repo" }],
];

Deno.test("SSE-13 every route that streams sends what there is at once, to clients that offer compression too", async () => {
  await using stack = new AsyncDisposableStack();
  let gate = Promise.withResolvers<void>();
  const view = {
    id: "0123",
    source: "org/repo",
    from: [],
    stage: "downloading",
    doneBytes: 1,
    totalBytes: 2,
    bytesPerSecond: null,
    remainingMs: null,
  } as const;
  const pulls: ModelPulls = {
    async pull(_request, tell) {
      tell(view);
      await gate.promise;
      return { model: "m", sizeBytes: 2, verified: true, from: [] };
    },
    list: () => [],
    cancel: () => Promise.resolve(false),
    pause: () => Promise.resolve(false),
    unpause: () => Promise.resolve(false),
  };
  const clock = createSystemClock();
  const { api, router } = apiUnderTest({ clock, pulls });
  router.answer = ({ capability }) => ({
    contentType: "text/event-stream",
    body: new ReadableStream({
      async start(controller) {
        const write = (text: string) =>
          controller.enqueue(new TextEncoder().encode(text));
        write(
          capability === "completion"
            ? 'data: {"choices":[{"index":0,"text":"first"}]}\n\n'
            : chunk({ content: "first" }),
        );
        await gate.promise;
        write(
          capability === "completion"
            ? 'data: {"choices":[{"index":0,"text":"","finish_reason":"stop"}]}\n\n'
            : chunk({}, "stop"),
        );
        write(DONE);
        controller.close();
      },
    }),
  });
  const { addresses } = stack.use(
    await openListeners({
      addresses: [{ host: "127.0.0.1", port: 0 }],
      handle: (request, info) => api.handle(request, info),
      log: new QuietLog(),
      clock,
    }),
  );
  for (const [path, body] of STREAMING) {
    gate = Promise.withResolvers();
    const response = await fetch(
      `http://127.0.0.1:${addresses[0]?.port}${path}`,
      {
        method: "POST",
        headers: {
          "accept-encoding": "gzip, br",
          "content-type": "application/json",
        },
        body: JSON.stringify(body),
      },
    );
    assert.equal(response.status, 200, path);
    assert.equal(response.headers.get("content-encoding"), null, path);
    const reader = response.body?.pipeThrough(new TextDecoderStream())
      .getReader();
    let told = "";
    // Were it held back, this would wait for the gate, which waits for this.
    while (!/first|0123|downloading/.test(told)) {
      const { value, done } = await reader?.read() ?? { done: true };
      assert.equal(done, false, `${path}: ${told}`);
      told += value ?? "";
    }
    gate.resolve();
    while (!(await reader?.read())?.done);
  }
});

Deno.test("RET-04 when all rest, every dialect says 429 with a Retry-After in its own shape", async () => {
  const { api, router } = apiUnderTest();
  router.answer = () => {
    throw new Fault("cooling_down", "Every engine asked for a rest", {
      retryAfterMs: 6_400,
    });
  };
  const shapes: readonly (readonly [string, object, RegExp])[] = [
    ["/v1/chat/completions", MESSAGES, /^\{"error":\{"message":"Every engine/],
    ["/v1/responses", { model: "m", input: "a" }, /^\{"error":\{"message":/],
    [
      "/v1/messages",
      { ...MESSAGES, max_tokens: 9 },
      /^\{"type":"error","error":\{"type":"rate_limit_error"/,
    ],
    ["/api/chat", MESSAGES, /^\{"error":"Every engine/],
    ["/v1/embeddings", { model: "m", input: "a" }, /^\{"error":\{"message":/],
    [
      `/node/${SELF}/v1/chat/completions`,
      MESSAGES,
      /^\{"error":\{"message":"Every engine/,
    ],
  ];
  for (const [path, body, shape] of shapes) {
    for (const stream of [false, true]) {
      const response = await api.handle(
        post(path, { ...body, stream }),
        LOOPBACK,
      );
      assert.equal(response.status, 429, path);
      assert.equal(response.headers.get("retry-after"), "7", path);
      assert.match(await response.text(), shape, path);
    }
  }
});

Deno.test("MOD-04 a model of any name is usable in chat, its prefix cut at most once", async () => {
  const { api, router } = apiUnderTest();
  router.answer = () => ({
    body:
      '{"model":"served","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}',
  });
  for (
    const model of [
      "hf.co/org/repo-GGUF:Q4_K_M",
      "vendor/model:free",
      "/models/Qwen3",
      "a b",
      "groq/llama",
      "cluster/v1/x",
      `node/${SELF}/v1/x`,
      SELF,
    ]
  ) {
    for (const prefix of ["", "/cluster", `/node/${SELF}`]) {
      for (
        const path of ["/v1/chat/completions", "/v1/messages", "/api/chat"]
      ) {
        const response = await api.handle(
          post(prefix + path, {
            ...MESSAGES,
            model,
            stream: false,
            max_tokens: 9,
          }),
          LOOPBACK,
        );
        assert.equal(response.status, 200, `${prefix}${path} ${model}`);
        assert.equal((await response.json()).model, model);
        assert.equal(router.requests.at(-1)?.model, model);
      }
    }
  }
});

Deno.test("REQ-04 Ollama's routes read JSON under any content type that its clients send", async () => {
  const { api, router } = apiUnderTest();
  router.answer = () => ({
    body:
      '{"model":"served","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}',
  });
  for (
    const type of [
      "application/x-www-form-urlencoded",
      "text/plain",
      "application/json; charset=utf-8",
      "application/JSON",
      null,
    ]
  ) {
    const request = post("/api/chat", { ...MESSAGES, stream: false });
    if (type === null) request.headers.delete("content-type");
    else request.headers.set("content-type", type);
    const response = await api.handle(request, LOOPBACK);
    assert.equal(response.status, 200, String(type));
    assert.equal((await response.json()).message.content, "hi");
  }
});
