import assert from "node:assert/strict";
import { Fault } from "../../../src/domain/mod.ts";
import type { UpstreamKind } from "../../../src/engines/upstream/upstream_profile.ts";
import { apiUnderTest, LOOPBACK, post } from "../../api/api_under_test.ts";
import { startFakeOllama } from "../../fakes/fake_ollama.ts";
import {
  openAiAnswer,
  startUpstreamServer,
} from "../../fakes/upstream_server.ts";
import { setUpUpstreams } from "./upstream_setup.ts";

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

/** A server of a kind that has the chat model "m". */
function serverOf(kind: UpstreamKind) {
  return kind === "ollama"
    ? startFakeOllama([{ name: "m" }])
    : startUpstreamServer((call) => {
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

/** The name of the bound that each kind keeps to; who knows both gets it as it was written. */
const BOUND: Readonly<
  Record<UpstreamKind, "max_tokens" | "max_completion_tokens">
> = {
  // Both pass over the newer name, and the answer runs on.
  ollama: "max_tokens",
  lmstudio: "max_tokens",
  "llama-server": "max_completion_tokens",
  vllm: "max_completion_tokens",
  "openai-compatible": "max_completion_tokens",
};

Deno.test("REQ-01 stop and the bound reach every kind of server in a form that it keeps to", async () => {
  for (const kind of Object.keys(BOUND) as UpstreamKind[]) {
    await using server = serverOf(kind);
    await using setup = await setUpUpstreams({ kind, url: server.url });
    const { api } = apiUnderTest({ router: setup.router });
    const asked = async (path: string, fields: object) => {
      const messages = [{ role: "user", content: "Hi" }];
      const response = await api.handle(
        post(path, { model: "m", messages, ...fields }),
        LOOPBACK,
      );
      assert.equal(response.status, 200, `${kind}: ${await response.text()}`);
      const { stop, max_tokens, max_completion_tokens } =
        server.callsOf("/v1/chat/completions").at(-1)?.body ?? {};
      return { stop, max_tokens, max_completion_tokens };
    };
    const chat = "/v1/chat/completions";
    const none = {
      stop: undefined,
      max_tokens: undefined,
      max_completion_tokens: undefined,
    };
    for (const stop of ["END", ["END", "X"]]) {
      assert.deepEqual(await asked(chat, { stop }), { ...none, stop });
    }
    for (const stop of [[], null]) {
      assert.deepEqual(await asked(chat, { stop }), none);
    }
    assert.deepEqual(await asked(chat, { max_completion_tokens: 5 }), {
      ...none,
      [BOUND[kind]]: 5,
    }, kind);
    assert.deepEqual(await asked(chat, { max_tokens: 5 }), {
      ...none,
      max_tokens: 5,
    });
    assert.deepEqual(
      await asked("/v1/messages", { max_tokens: 5, stop_sequences: ["END"] }),
      { ...none, stop: ["END"], max_tokens: 5 },
    );
  }
});
