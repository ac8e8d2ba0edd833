import assert from "node:assert/strict";
import type { UpstreamKind } from "../../../src/engines/upstream/upstream_profile.ts";
import {
  apiUnderTest,
  errorOf,
  LOOPBACK,
  post,
} from "../../api/api_under_test.ts";
import {
  openAiAnswer,
  startUpstreamServer,
} from "../../fakes/upstream_server.ts";
import { startFakeOllama } from "../../fakes/fake_ollama.ts";
import { setUpUpstreams } from "./upstream_setup.ts";

/** A server of each kind; OpenAI's list of models is enough for all but two. */
function startServer(kind: UpstreamKind) {
  if (kind === "ollama") {
    return startFakeOllama([{
      name: "m",
      capabilities: ["completion", "tools"],
      contextLength: 4_096,
    }]);
  }
  return startUpstreamServer((call) => {
    switch (call.path) {
      case "/v1/models":
        return Response.json({ data: [{ id: "m" }] });
      case "/props":
        return Response.json({
          total_slots: 1,
          default_generation_settings: { n_ctx: 4_096 },
        });
      case "/api/v0/models":
        return Response.json({
          object: "list",
          data: [{ id: "m", type: "llm", state: "loaded" }],
        });
      default:
        return openAiAnswer(call);
    }
  });
}

/** What each kind gets for the content of a turn that holds calls alone. */
const WANTED: Readonly<Record<UpstreamKind, "" | null>> = {
  ollama: "",
  lmstudio: "",
  "llama-server": null,
  vllm: null,
  "openai-compatible": null,
};

const CALL = {
  id: "c",
  type: "function",
  function: { name: "f", arguments: '{"a":1}' },
};
const TOOLS = [{
  type: "function",
  function: { name: "f", parameters: { type: "object", properties: {} } },
}];

Deno.test("TRN-03 a turn with calls and no content reaches every kind of server in the one form it takes", async () => {
  for (const kind of Object.keys(WANTED) as UpstreamKind[]) {
    await using server = startServer(kind);
    await using setup = await setUpUpstreams({ kind, url: server.url });
    const { api } = apiUnderTest({ router: setup.router });
    const ask = (turn: object) =>
      api.handle(
        post("/v1/chat/completions", {
          model: "m",
          tools: TOOLS,
          messages: [
            { role: "user", content: "Call it" },
            { role: "assistant", ...turn },
            { role: "tool", tool_call_id: "c", content: "done" },
          ],
        }),
        LOOPBACK,
      );
    for (const content of [null, "", [], undefined, "I call it"]) {
      const response = await ask({ content, tool_calls: [CALL] });
      assert.equal(response.status, 200, `${kind}: ${await response.text()}`);
      const { messages } = server.callsOf("/v1/chat/completions").at(-1)?.body;
      assert.deepEqual(messages[1], {
        role: "assistant",
        content: content === "I call it" ? content : WANTED[kind],
        tool_calls: [CALL],
      }, `${kind}, ${JSON.stringify(content)}`);
    }
    const asked = server.callsOf("/v1/chat/completions").length;
    for (const turn of [{}, { content: null }, { tool_calls: [] }]) {
      const refused = await ask(turn);
      assert.equal(refused.status, 400);
      assert.match(
        (await errorOf(refused)).message,
        /"messages\[1\]" must have/,
      );
    }
    assert.equal(server.callsOf("/v1/chat/completions").length, asked);
    const { engines } = setup.router.standing()[0] ?? {};
    assert.deepEqual(engines?.map(({ breaker }) => breaker), ["closed"]);
  }
});

Deno.test("TRN-03 the other dialects' turns with calls alone arrive in that form too", async () => {
  await using server = startServer("lmstudio");
  await using setup = await setUpUpstreams({
    kind: "lmstudio",
    url: server.url,
  });
  const { api } = apiUnderTest({ router: setup.router });
  const asks: readonly (readonly [string, object])[] = [
    ["/v1/messages", {
      model: "m",
      max_tokens: 9,
      tools: [{ name: "f", input_schema: { type: "object" } }],
      messages: [
        { role: "user", content: "Call it" },
        {
          role: "assistant",
          content: [{ type: "tool_use", id: "c", name: "f", input: { a: 1 } }],
        },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "c", content: "done" }],
        },
      ],
    }],
    ["/api/chat", {
      model: "m",
      stream: false,
      tools: TOOLS,
      messages: [
        { role: "user", content: "Call it" },
        {
          role: "assistant",
          tool_calls: [{ function: { name: "f", arguments: { a: 1 } } }],
        },
        { role: "tool", content: "done" },
      ],
    }],
    ["/v1/responses", {
      model: "m",
      tools: [{ type: "function", name: "f", parameters: { type: "object" } }],
      input: [
        { role: "user", content: "Call it" },
        {
          type: "function_call",
          call_id: "c",
          name: "f",
          arguments: '{"a":1}',
        },
        { type: "function_call_output", call_id: "c", output: "done" },
      ],
    }],
  ];
  for (const [path, body] of asks) {
    const response = await api.handle(post(path, body), LOOPBACK);
    assert.equal(response.status, 200, `${path}: ${await response.text()}`);
    const { messages } = server.callsOf("/v1/chat/completions").at(-1)?.body;
    const turn = messages.find((one: { role: string }) =>
      one.role === "assistant"
    );
    assert.equal(turn.content, "", path);
    assert.equal(turn.tool_calls[0].function.arguments, '{"a":1}', path);
  }
});
