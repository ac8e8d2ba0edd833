import assert from "node:assert/strict";
import type { InferenceRequest } from "../../src/domain/mod.ts";
import {
  apiUnderTest,
  CHAT,
  CHAT_ANSWER,
  errorOf,
  LOOPBACK,
  PEER,
  post,
} from "./api_under_test.ts";

/** Send a body and return what the router was asked. */
async function asked(
  body: unknown,
  path = "/v1/chat/completions",
  headers: Record<string, string> = {},
): Promise<InferenceRequest> {
  const { api, router } = apiUnderTest();
  router.answer = () => ({ body: CHAT_ANSWER });
  const response = await api.handle(post(path, body, headers), LOOPBACK);
  assert.equal(response.status, 200, await response.text());
  const [request] = router.requests;
  assert.ok(request !== undefined);
  return request;
}

Deno.test("SSE-14 a chat streams only when it says so, and engines are always told", async () => {
  for (const stream of [undefined, null, false]) {
    const request = await asked({
      ...CHAT,
      stream,
      stream_options: { include_usage: true },
    });
    assert.equal(request.stream, false);
    assert.equal(request.body.stream, false);
    assert.equal(request.includeUsage, false);
    assert.ok(!("stream_options" in request.body));
  }
  const request = await asked({
    ...CHAT,
    stream: true,
    stream_options: { include_usage: true },
  });
  assert.equal(request.body.stream, true);
  assert.equal(request.includeUsage, true);
});

Deno.test("a seed of 64 bits reaches the engine as it came, and a longer one is refused", async () => {
  const withSeed = (path: string, seed: string) =>
    post(
      path,
      path === "/api/chat"
        ? `{"model":"m","messages":[{"role":"user","content":"a"}],"stream":false,"options":{"seed":${seed}}}`
        : `{"model":"m","messages":[{"role":"user","content":"a"}],"seed":${seed}}`,
    );
  for (const path of ["/v1/chat/completions", "/api/chat"]) {
    for (
      const seed of [
        "0",
        "-1",
        "9007199254740993",
        "9223372036854775807",
        "-9223372036854775808",
      ]
    ) {
      const { api, router } = apiUnderTest();
      router.answer = () => ({ body: CHAT_ANSWER });
      const response = await api.handle(withSeed(path, seed), LOOPBACK);
      assert.equal(response.status, 200, await response.text());
      assert.match(
        JSON.stringify(router.requests[0]?.body),
        new RegExp(`"seed":${seed}[,}]`),
      );
    }
    for (
      const seed of ["9223372036854775808", "1.5", '"1"', "[1]", "{}", "true"]
    ) {
      const { api } = apiUnderTest();
      const refused = await api.handle(withSeed(path, seed), LOOPBACK);
      assert.equal(refused.status, 400, seed);
      await refused.body?.cancel();
    }
  }
});

Deno.test("logit_bias passes in OpenAI's form and in llama.cpp's", async () => {
  for (const logit_bias of [{ "15043": -100 }, [[15043, 1], [" no", false]]]) {
    const { body } = await asked({ ...CHAT, logit_bias });
    assert.deepEqual(body.logit_bias, logit_bias);
  }
});

Deno.test("REQ-01 stop and the bounds of the answer are read in every legal spelling", async () => {
  for (const stop of ["END", ["END", "X"]]) {
    assert.deepEqual((await asked({ ...CHAT, stop })).body.stop, stop);
  }
  for (const stop of [[], null]) {
    const { body } = await asked({ ...CHAT, stop, temperature: null });
    assert.ok(!("stop" in body) && !("temperature" in body));
  }
  const bounds: readonly [Record<string, unknown>, number | null][] = [
    [{}, null],
    [{ max_tokens: 7 }, 7],
    [{ max_completion_tokens: 5 }, 5],
    [{ max_completion_tokens: 5, max_tokens: 9 }, 5],
    [{ max_completion_tokens: null, max_tokens: 9 }, 9],
    [{ max_tokens: null }, null],
    [{ max_tokens: -1 }, null],
  ];
  for (const [fields, expected] of bounds) {
    const request = await asked({ ...CHAT, ...fields });
    assert.equal(request.maxOutputTokens, expected, JSON.stringify(fields));
    if (expected === null) assert.ok(!("max_tokens" in request.body));
  }
});

Deno.test("a chat tells what it needs and about how long its prompt is", async () => {
  const image = {
    type: "image_url",
    image_url: { url: "data:image/png;base64,AAAA" },
  };
  const request = await asked({
    ...CHAT,
    messages: [
      { role: "user", content: [{ type: "text", text: "12345678" }, image] },
      { role: "user", content: "" },
      { role: "user", content: "北🌍é" },
    ],
    tools: [{ type: "function", function: { name: "f" } }],
    response_format: { type: "json_schema", json_schema: {} },
    logprobs: true,
    unheard_of: { kept: 1 },
  });
  assert.deepEqual(request.needs, [
    "tools",
    "vision",
    "json_schema",
    "logprobs",
  ]);
  const toolTokens = Math.ceil(
    '[{"type":"function","function":{"name":"f"}}]'.length / 4,
  );
  assert.equal(request.promptTokens, 2 + 576 + 1 + 3 + toolTokens);
  assert.deepEqual(request.body.unheard_of, { kept: 1 });

  const plain = await asked({
    ...CHAT,
    tools: [],
    response_format: { type: "text" },
    logprobs: false,
    n: 3,
  });
  assert.deepEqual(plain.needs, ["n"]);
  assert.equal(plain.body.n, 3);
  assert.deepEqual((await asked({ ...CHAT, n: 1 })).needs, []);
});

Deno.test("TRN-04 replayed tool arguments reach engines as text that holds JSON", async () => {
  const turn = (given: unknown) => ({
    ...CHAT,
    messages: [...CHAT.messages, {
      role: "assistant",
      content: null,
      tool_calls: [{
        id: "c1",
        type: "function",
        function: { name: "f", arguments: given },
      }],
    }],
  });
  for (const given of ['{"a":1}', { a: 1 }]) {
    const { body } = await asked(turn(given));
    assert.match(JSON.stringify(body), /"arguments":"\{\\"a\\":1\}"/);
  }
  const { api } = apiUnderTest();
  const response = await api.handle(
    post("/v1/chat/completions", turn('{"a":1}{"b":2}')),
    LOOPBACK,
  );
  assert.equal(response.status, 400);
  assert.equal(
    (await errorOf(response)).param,
    "messages[1].tool_calls[0].function.arguments",
  );
});

Deno.test("the source is taken from body, header or path, and never reaches an engine", async () => {
  const path = "/v1/chat/completions";
  const ways: readonly [InferenceRequest, unknown][] = [
    [await asked(CHAT), { kind: "unsaid" }],
    [await asked({ ...CHAT, source: "local" }), { kind: "local" }],
    [
      await asked(CHAT, path, { "x-covey-source": "cluster" }),
      { kind: "cluster" },
    ],
    [await asked(CHAT, `/cluster${path}`), { kind: "cluster" }],
    [
      await asked(CHAT, `/node/${PEER.toUpperCase()}${path}`),
      { kind: "node", node: PEER },
    ],
    [
      await asked(CHAT, `/node/the%20mac${path}`),
      { kind: "node", node: "the mac" },
    ],
    [
      await asked({ ...CHAT, source: "cluster" }, `/cluster${path}`, {
        "x-covey-source": "cluster",
      }),
      { kind: "cluster" },
    ],
  ];
  for (const [request, source] of ways) {
    assert.deepEqual(request.source, source);
    assert.ok(!("source" in request.body));
  }
});

Deno.test("a source said twice in different words is refused, naming both", async () => {
  const { api, router } = apiUnderTest();
  const table: readonly [string, unknown, string | null, RegExp][] = [
    [
      "",
      "local",
      "cluster",
      /body field "source" says "local".*header.*"cluster"/,
    ],
    ["/cluster", "local", null, /body field.*"local", path says "cluster"/],
    ["/node/ben", null, "node:anna", /header.*"node:anna", path.*"node:ben"/],
    ["", null, "nowhere", /"x-covey-source" must be/],
  ];
  for (const [prefix, source, header, message] of table) {
    const response = await api.handle(
      post(
        `${prefix}/v1/chat/completions`,
        { ...CHAT, source },
        header === null ? {} : { "x-covey-source": header },
      ),
      LOOPBACK,
    );
    assert.equal(response.status, 400);
    assert.match((await errorOf(response)).message, message);
  }
  assert.equal(router.requests.length, 0);
});

Deno.test("a conversation is taken from its header, and other covey headers are ignored", async () => {
  const request = await asked(CHAT, "/v1/chat/completions", {
    "x-covey-conversation": " talk-1 ",
    "x-covey-client": "someone else",
  });
  assert.equal(request.conversation, "talk-1");
  assert.equal(request.client, "local");
  assert.ok(!JSON.stringify(request).includes("someone else"));
  assert.equal((await asked(CHAT)).conversation, null);
});

Deno.test("a completion takes text and tokens, one or many", async () => {
  const table: readonly [unknown, number][] = [
    ["12345678", 2],
    [["12345678", "x"], 3],
    [[1, 2, 3], 3],
    [[[1, 2], [3]], 3],
    ["", 1],
  ];
  for (const [prompt, tokens] of table) {
    const request = await asked({ model: "m", prompt }, "/v1/completions");
    assert.equal(request.capability, "completion");
    assert.equal(request.promptTokens, tokens);
  }
  const { api } = apiUnderTest();
  const bad: readonly [unknown, string][] = [
    [undefined, "prompt"],
    [null, "prompt"],
    [[], "prompt"],
    [[[]], "prompt[0]"],
    [{}, "prompt"],
    [["a", 1], "prompt"],
    [[-1], "prompt[0]"],
  ];
  for (const [prompt, param] of bad) {
    const response = await api.handle(
      post("/v1/completions", { model: "m", prompt }),
      LOOPBACK,
    );
    assert.equal(response.status, 400, JSON.stringify(prompt));
    const error = await errorOf(response);
    assert.equal(error.param, param);
    assert.match(error.message, /" must /);
  }
});

Deno.test("a key named __proto__ is data like any other", async () => {
  const request = await asked(
    '{"model":"m","messages":[{"role":"user","content":"x"}],"__proto__":{"stream":true}}',
  );
  assert.equal(request.stream, false);
  assert.equal(Object.getPrototypeOf(request.body), Object.prototype);
});
