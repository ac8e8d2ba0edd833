import assert from "node:assert/strict";
import { join } from "node:path";
import { membersSeen } from "../../scripts/lab/members.ts";
import { startNode } from "../../scripts/lab/node_process.ts";
import { HAS_CLUSTER } from "../../scripts/lab/cluster_code.ts";

/** The same model, the faster node first choice of both. */
function simulated(decodeTokensPerSecond: number) {
  return {
    engines: [{
      kind: "simulated",
      id: "sim",
      models: [{ id: "sim-2b", decodeTokensPerSecond }],
    }],
  };
}

const DIES_AT = 40;
const TOKENS = 100;

async function startNodes(stack: AsyncDisposableStack) {
  const folder = await Deno.makeTempDir({ prefix: "covey-e2e-" });
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  const start = async (name: string, decodeTokensPerSecond: number) =>
    stack.use(
      await startNode({
        name,
        dataDir: join(folder, name),
        config: simulated(decodeTokensPerSecond),
        env: {
          COVEY_CLUSTER_SECRET: "a secret for the tests alone 7392",
          COVEY_ENGINE: "off",
          COVEY_LINK_HOST: "127.0.0.1",
          COVEY_LINK_PORT: "0",
          COVEY_MDNS_INTERFACES: "127.0.0.1",
          COVEY_PORT: "0",
          COVEY_ROUTING: "balanced",
        },
      }),
    );
  const entry = await start("entry", 100);
  const server = await start("server", 200);
  await membersSeen([entry.url, server.url], 2, 15_000);
  return { entry, server };
}

/** Stream an answer, and do something once so many tokens have come. */
async function streamAndAct(
  url: string,
  mayContinue: boolean,
  act: () => Promise<unknown>,
): Promise<{ readonly raw: string; readonly decision: string | null }> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-covey-continue": mayContinue ? "1" : "0",
    },
    body: JSON.stringify({
      model: "sim-2b",
      messages: [{ role: "user", content: "hello" }],
      max_tokens: TOKENS,
      temperature: 0,
      stream: true,
      stream_options: { include_usage: true },
    }),
  });
  assert(response.body !== null);
  let raw = "";
  let acted: Promise<unknown> | null = null;
  for await (
    const piece of response.body.pipeThrough(new TextDecoderStream())
  ) {
    raw += piece;
    if (raw.includes(`"w${DIES_AT} "`)) acted ??= act();
  }
  await acted;
  return { raw, decision: response.headers.get("x-covey-decision") };
}

function wordsOf(raw: string): readonly string[] {
  return [...raw.matchAll(/"content":"(w\d+ )"/g)].map(([, word]) =>
    word ?? ""
  );
}

const WHOLE = Array.from({ length: TOKENS }, (_, at) => `w${at + 1} `);

Deno.test({
  name: "a process killed at token 40 of 100 costs no word and repeats none",
  ignore: !HAS_CLUSTER,
  async fn() {
    await using stack = new AsyncDisposableStack();
    const { entry, server } = await startNodes(stack);
    const { raw, decision } = await streamAndAct(
      entry.url,
      true,
      () => server.end("SIGKILL"),
    );
    const record = await (await fetch(
      `${entry.url}/covey/decisions/${decision}`,
    )).json();
    assert.deepEqual(wordsOf(raw), WHOLE);
    assert(raw.endsWith("data: [DONE]\n\n"));
    assert.match(raw, /"completion_tokens":100/);
    assert.equal(new Set(raw.match(/"id":"[^"]+"/g)).size, 1);
    assert.deepEqual(
      // deno-lint-ignore no-explicit-any
      record.attempts.map((one: any) => one.outcome),
      ["broken_off", "answered"],
    );
    assert(record.attempts[1].resumedAtTokens >= DIES_AT);
  },
});

Deno.test({
  name: "without leave to go on, a killed process ends the answer in an error",
  ignore: !HAS_CLUSTER,
  async fn() {
    await using stack = new AsyncDisposableStack();
    const { entry, server } = await startNodes(stack);
    const { raw } = await streamAndAct(
      entry.url,
      false,
      () => server.end("SIGKILL"),
    );
    const words = wordsOf(raw);
    assert.deepEqual(words, WHOLE.slice(0, words.length));
    assert(words.length >= DIES_AT && words.length < TOKENS);
    assert.match(raw, /"error"/);
    assert(!raw.includes("[DONE]"));
  },
});
