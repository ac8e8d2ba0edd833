import assert from "node:assert/strict";
import { CHAT, simulatedNodes, until } from "../fakes/simulated_pair.ts";
import { apiUnderTest, LOOPBACK, post } from "./api_under_test.ts";
import { eventsOf } from "./dialect/streams.ts";

const MESSAGES = [{ role: "user", content: "Hi" }];
/** Both routes that know `n`. */
const ROUTES = [
  ["/v1/chat/completions", { messages: MESSAGES }],
  ["/v1/completions", { prompt: "Hi" }],
] as const;

interface Choice {
  readonly index: number;
  readonly text?: string;
  readonly message?: { readonly content: string };
  readonly delta?: { readonly content?: string | null };
}

function textOf({ delta, message, text }: Choice): string {
  return text ?? message?.content ?? delta?.content ?? "";
}

Deno.test("n answers come through OpenAI's routes whole and streamed, and are counted together", async () => {
  await using nodes = simulatedNodes({ models: [CHAT], faults: [{}, {}] });
  const { api } = apiUnderTest({ router: nodes.router });
  for (const [path, body] of ROUTES) {
    const ask = (more: object) =>
      api.handle(
        post(path, { model: "m", max_tokens: 3, n: 3, ...body, ...more }),
        LOOPBACK,
      );
    const asked = ask({});
    const streamed = ask({
      stream: true,
      stream_options: { include_usage: true },
    });
    const whole = await (await until(nodes.clock, asked)).json();
    const choices: Choice[] = whole.choices;
    assert.deepEqual(choices.map(({ index }) => index), [0, 1, 2]);
    const texts = choices.map(textOf);
    assert.deepEqual(texts, [
      "w1 w2 w3 ",
      "w1.1 w2.1 w3.1 ",
      "w1.2 w2.2 w3.2 ",
    ]);
    assert.equal(whole.usage.completion_tokens, 9);

    const { body: stream } = await until(nodes.clock, streamed);
    const text = await until(nodes.clock, new Response(stream).text());
    assert.match(text, /data: \[DONE\]\n\n$/);
    const events = eventsOf(text);
    const { usage } = events.pop();
    assert.equal(usage.completion_tokens, 9);
    for (const index of [0, 1, 2]) {
      const own = events.map((event) => event.choices[0])
        .filter((choice) => choice.index === index);
      assert.equal(own.map(textOf).join(""), texts[index]);
      assert.notEqual(own.at(-1).finish_reason, null);
    }
  }
  assert.equal(
    nodes.metrics.counts.get("covey_tokens_total{kind=output}"),
    4 * 9,
  );
});

Deno.test("more answers than an engine gives are a 400 that says how many it gives", async () => {
  await using nodes = simulatedNodes({ models: [CHAT], faults: [{}] });
  const { api } = apiUnderTest({ router: nodes.router });
  for (const [path, body] of ROUTES) {
    const refused = await api.handle(
      post(path, { model: "m", n: 17, ...body }),
      LOOPBACK,
    );
    assert.equal(refused.status, 400);
    const { error } = await refused.json();
    assert.equal(error.param, "n");
    assert.match(error.message, /17.*16/);
  }
});
