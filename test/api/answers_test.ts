import assert from "node:assert/strict";
import { through } from "./dialect/streams.ts";
import fc from "fast-check";
import {
  type DecisionId,
  Fault,
  type FaultCode,
} from "../../src/domain/mod.ts";
import { retryAfterOf } from "../../src/api/openai/engine_error.ts";
import { renameInEvents } from "../../src/api/openai/model_name.ts";
import {
  apiUnderTest,
  CHAT,
  CHAT_ANSWER,
  errorOf,
  LOOPBACK,
  post,
  SELF,
} from "./api_under_test.ts";

const PATH = "/v1/chat/completions";
const EVENTS = "text/event-stream";

Deno.test("handle passes a whole answer's bytes on and says where it came from", async () => {
  const { api, router } = apiUnderTest();
  const odd = `{ "model":"m",\n "seed":12345678901234567890 }`;
  router.answer = () => ({
    body: odd,
    predictedMs: 12.4,
    predictedP80Ms: 18.6,
  });
  const response = await api.handle(post(PATH, CHAT), LOOPBACK);
  assert.equal(response.status, 200);
  const { headers } = response;
  assert.equal(headers.get("x-covey-node"), SELF);
  assert.equal(headers.get("x-covey-decision"), "decision-1");
  assert.equal(headers.get("x-covey-predicted-ms"), "12");
  assert.equal(headers.get("x-covey-predicted-p80-ms"), "19");
  assert.equal(headers.get("x-covey-model"), "m");
  assert.equal(headers.get("content-length"), String(odd.length));
  assert.equal(await response.text(), odd);
});

Deno.test("a caller who asked for a stream gets one of an engine that does not stream", async () => {
  const { api, router } = apiUnderTest();
  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
  const call = (id: string) => ({
    id,
    type: "function",
    function: { name: "f", arguments: "{}" },
  });
  const message = {
    role: "assistant",
    content: null,
    tool_calls: [call("a"), call("b")],
  };
  const answers = {
    [PATH]: {
      id: "c",
      object: "chat.completion",
      model: "other",
      choices: [{ index: 0, message, finish_reason: "tool_calls" }],
      usage,
    },
    "/v1/completions": {
      id: "c",
      object: "text_completion",
      model: "other",
      choices: [{ index: 0, text: "hi", finish_reason: "stop" }],
      usage,
    },
  };
  const events = async (path: keyof typeof answers, options?: object) => {
    router.answer = () => ({ body: JSON.stringify(answers[path]) });
    const asked = { ...CHAT, prompt: "x", stream: true };
    const response = await api.handle(
      post(path, { ...asked, stream_options: options }),
      LOOPBACK,
    );
    assert.match(
      response.headers.get("content-type") ?? "",
      /^text\/event-str/,
    );
    const lines = (await response.text()).trimEnd().split("\n\n");
    assert.equal(lines.pop(), "data: [DONE]");
    return lines.map((line) => JSON.parse(line.slice("data: ".length)));
  };
  const [said, end, told] = await events(PATH, { include_usage: true });
  const head = { id: "c", object: "chat.completion.chunk", model: "m" };
  const calls = message.tool_calls.map((one, index) => ({ index, ...one }));
  const delta = { ...message, tool_calls: calls };
  assert.deepEqual(said, {
    ...head,
    choices: [{ index: 0, delta, finish_reason: null }],
  });
  assert.deepEqual(end, {
    ...head,
    choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }],
  });
  assert.deepEqual(told, { ...head, choices: [], usage });
  const texts = await events("/v1/completions");
  assert.deepEqual(texts.map(({ choices }) => choices), [
    [{ index: 0, text: "hi", finish_reason: null }],
    [{ index: 0, text: "", finish_reason: "stop" }],
  ]);
});

Deno.test("MOD-03 the answer names the model as the caller did, its header the served one", async () => {
  const { api, router } = apiUnderTest();
  router.answer = () => ({
    body: CHAT_ANSWER.replace('"model":"m"', '"model":"/weights/x.gguf"'),
    model: "größe/x y",
    predictedMs: Infinity,
  });
  const response = await api.handle(post(PATH, CHAT), LOOPBACK);
  assert.equal(
    response.headers.get("x-covey-model"),
    "gr%C3%B6%C3%9Fe/x%20y",
  );
  assert.equal(response.headers.get("x-covey-predicted-ms"), null);
  assert.deepEqual(await response.json(), JSON.parse(CHAT_ANSWER));
});

Deno.test("handle makes a 502 of an answer that is no JSON", async () => {
  const { api, router } = apiUnderTest();
  router.answer = () => ({ body: "<html>OK</html>", contentType: "text/html" });
  const response = await api.handle(post(PATH, CHAT), LOOPBACK);
  assert.equal(response.status, 502);
  assert.equal((await errorOf(response)).origin, "engine");
});

function chunk(model: string, content: string): string {
  return `data: ${
    JSON.stringify({ model, choices: [{ index: 0, delta: { content } }] })
  }\n\n`;
}

async function renamed(
  pieces: readonly Uint8Array<ArrayBuffer>[],
): Promise<string> {
  return await through(pieces, renameInEvents("m"));
}

function cutAt(
  text: string,
  places: readonly number[],
): readonly Uint8Array<ArrayBuffer>[] {
  const bytes = new TextEncoder().encode(text);
  const cuts = [...new Set(places.map((n) => n % (bytes.length + 1)))]
    .sort((a, b) => a - b);
  return [0, ...cuts].map((from, n) =>
    bytes.slice(from, cuts[n] ?? bytes.length)
  );
}

Deno.test("SSE-01 renameInEvents renames every event however the bytes are cut", async () => {
  const comment = ": covey queued\n\n";
  const end = "data: [DONE]\n\n";
  const text = (model: string) =>
    comment + chunk(model, "北🌍é") + comment + chunk(model, '"model":"q"') +
    end;
  const foreign = text("engine's own");
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(), { maxLength: 12 }),
      async (places) => {
        assert.equal(await renamed(cutAt(foreign, places)), text("m"));
        assert.equal(await renamed(cutAt(text("m"), places)), text("m"));
      },
    ),
    { numRuns: 60 },
  );
  const everyByte = [...new TextEncoder().encode(foreign).keys()];
  assert.equal(await renamed(cutAt(foreign, everyByte)), text("m"));
});

Deno.test("renameInEvents leaves alone what is no event of a model", async () => {
  const text = 'data: {"error":{"message":"x"}}\r\n\r\n' +
    "event: ping\ndata: {\ndata: }\n\ndata: no json\n\ndata: {";
  assert.equal(await renamed(cutAt(text, [3, 20, 41])), text);
  assert.equal(
    await renamed(cutAt('data: {"model":"x"}\r\n\r\n', [9])),
    'data: {"model":"m"}\r\n\r\n',
  );
});

Deno.test("SSE-13 an event reaches the client before the next one exists", async () => {
  const { api, router } = apiUnderTest();
  let sink: ReadableStreamDefaultController<Uint8Array> | undefined;
  router.answer = () => ({
    contentType: EVENTS,
    body: new ReadableStream({
      start(controller) {
        sink = controller;
      },
    }),
  });
  const response = await api.handle(
    post(PATH, { ...CHAT, stream: true }, { "accept-encoding": "gzip" }),
    LOOPBACK,
  );
  const { headers } = response;
  assert.equal(headers.get("content-type"), "text/event-stream; charset=utf-8");
  assert.equal(headers.get("cache-control"), "no-cache, no-transform");
  assert.equal(headers.get("x-accel-buffering"), "no");
  const reader = response.body?.pipeThrough(new TextDecoderStream())
    .getReader();
  for (const model of ["other", "m"]) {
    sink?.enqueue(new TextEncoder().encode(chunk(model, "x")));
    assert.equal((await reader?.read())?.value, chunk("m", "x"));
  }
  sink?.close();
  assert.equal((await reader?.read())?.done, true);
});

Deno.test("SSE-11 a client that leaves cancels the answer, whole or streamed", async () => {
  const { api, router } = apiUnderTest();
  let cancelled = 0;
  router.answer = () => ({
    contentType: EVENTS,
    body: new ReadableStream({
      cancel() {
        cancelled++;
      },
    }),
  });
  const stream = await api.handle(
    post(PATH, { ...CHAT, stream: true }),
    LOOPBACK,
  );
  await stream.body?.cancel();
  assert.equal(cancelled, 1);

  const leave = new AbortController();
  const asked = Promise.withResolvers<void>();
  router.answer = (_request, signal) => {
    asked.resolve();
    return new Promise((_, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason))
    );
  };
  const waiting = api.handle(
    new Request(post(PATH, CHAT), { signal: leave.signal }),
    LOOPBACK,
  );
  await asked.promise;
  leave.abort();
  const gone = await waiting;
  assert.equal(gone.status, 499);
  assert.equal(router.signals.at(-1)?.aborted, true);
});

Deno.test("handle turns each fault into its status and says who spoke", async () => {
  const { api, router } = apiUnderTest();
  const table: readonly [FaultCode, number, string][] = [
    ["context_length_exceeded", 400, "context_length_exceeded"],
    ["wrong_capability", 400, "wrong_capability"],
    ["model_not_found", 404, "model_not_found"],
    ["queue_full", 429, "queue_full"],
    ["cooling_down", 429, "cooling_down"],
    ["no_candidate", 503, "no_candidate"],
    ["engine_loading", 503, "engine_loading"],
    ["shutting_down", 503, "shutting_down"],
    ["engine_failed", 502, "engine_failed"],
    ["link_failed", 502, "link_failed"],
    ["engine_timeout", 504, "engine_timeout"],
  ];
  for (const [code, status, wire] of table) {
    router.answer = () => {
      throw new Fault(code, "said to the caller", {
        origin: "engine",
        retryAfterMs: 1200,
        cause: new Error("/home/somebody/secret"),
      });
    };
    const response = await api.handle(post(PATH, CHAT), LOOPBACK);
    assert.equal(response.status, status, code);
    assert.equal(
      response.headers.get("retry-after"),
      status === 429 || status === 503 ? "2" : null,
    );
    const error = await errorOf(response);
    assert.equal(error.code, wire);
    assert.equal(error.origin, "engine");
    assert.equal(error.message, "said to the caller");
  }
});

Deno.test("GGF-03 handle says why a model is missing when its file is broken", async () => {
  const { api, router } = apiUnderTest({
    problemWith: (model) => model === "cut" ? "The file is truncated" : null,
  });
  router.answer = () => {
    throw new Fault("model_not_found", "said to the caller", {
      decision: "decision-9" as DecisionId,
    });
  };
  for (
    const [model, message] of [
      ["cut", 'The model "cut" cannot be used: The file is truncated'],
      ["other", "said to the caller"],
    ]
  ) {
    const response = await api.handle(post(PATH, { ...CHAT, model }), LOOPBACK);
    assert.equal(response.status, 404);
    assert.equal(response.headers.get("x-covey-decision"), "decision-9");
    assert.equal((await errorOf(response)).message, message);
  }
});

Deno.test("handle hides what it did not foresee and logs it under an id", async () => {
  const { api, router, log } = apiUnderTest();
  router.answer = () => {
    throw new TypeError("cannot read /home/somebody/key");
  };
  const response = await api.handle(post(PATH, CHAT), LOOPBACK);
  assert.equal(response.status, 500);
  const { message } = await errorOf(response);
  assert.ok(!message.includes("somebody"));
  const [line] = log.lines.filter(({ level }) => level === "error");
  assert.ok(message.includes(String(line?.fields.requestId)));
  assert.match(String(line?.fields.cause), /somebody/);
});

Deno.test("an engine's own error keeps status and words, and loses keys, paths and stacks", async () => {
  const { api, router } = apiUnderTest();
  const ask = async (body: string, status = 400, retryAfter?: string) => {
    router.answer = () => ({
      body,
      status,
      contentType: "text/plain",
      retryAfter: retryAfter ?? null,
    });
    const response = await api.handle(post(PATH, CHAT), LOOPBACK);
    assert.equal(response.status, status);
    assert.equal(
      response.headers.get("retry-after"),
      retryAfter === undefined ? null : "2",
    );
    const error = await errorOf(response);
    assert.equal(error.origin, "engine");
    return error;
  };
  const shaped = await ask(JSON.stringify({
    error: {
      message: "too long",
      type: "exceed_context_size_error",
      code: "context_length_exceeded",
      param: "messages",
      stack: "at /srv/engine.js",
    },
  }));
  assert.deepEqual(shaped, {
    message: "too long",
    type: "exceed_context_size_error",
    param: "messages",
    code: "context_length_exceeded",
    origin: "engine",
  });
  assert.equal(
    (await ask('{"error":"no such model"}')).message,
    "no such model",
  );
  assert.equal((await ask('{"detail":"bad"}', 422)).message, "bad");
  const listed = await ask('[{"error":{"message":"bad","code":400}}]', 400);
  assert.deepEqual([listed.message, listed.code], ["bad", 400]);
  assert.equal((await ask("plain words", 429, "1.5")).message, "plain words");
  assert.equal(
    (await ask("<html>down</html>", 503)).message,
    "The engine answered with status 503",
  );
  assert.equal((await ask("", 500)).type, "server_error");
  const leaky = await ask(
    JSON.stringify({
      error: "failed to load /home/ann/m.gguf or C:\\Users\\ann\\m.gguf " +
        "with sk-proj-abcdefgh12345678\n    at load (/srv/x.js:1:2)",
    }),
    500,
  );
  assert.equal(
    leaky.message,
    "failed to load [path] or [path] with [key]",
  );
});

Deno.test("RET-01 retryAfterOf understands seconds and dates and nothing else", () => {
  const nowMs = Date.UTC(2026, 10, 30, 12, 0, 0);
  const table: readonly [string | null, number | null][] = [
    [null, null],
    ["", null],
    ["3", 3],
    ["1.5", 2],
    ["120 ", 120],
    ["0", 0],
    ["-3", null],
    ["+3", null],
    ["soon", null],
    ["99999999999", 86_400],
    ["Mon, 30 Nov 2026 12:00:03 GMT", 3],
    ["Mon, 30 Nov 2026 11:00:00 GMT", 0],
    ["2026", 2026],
  ];
  for (const [header, seconds] of table) {
    assert.equal(retryAfterOf(header, nowMs), seconds, String(header));
  }
});
