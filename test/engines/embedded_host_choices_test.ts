import assert from "node:assert/strict";
import { hostOfFile, readStream, untilSlots } from "./embedded_host_driver.ts";

const host = hostOfFile("chat", { slots: 2 });
const CHAT = "/v1/chat/completions";
const COMPLETION = "/v1/completions";
const messages = [{ role: "user", content: "Sing" }];

interface Choice {
  readonly index: number;
  readonly finish_reason: string;
  readonly text?: string;
  readonly message?: { readonly content: string };
}

Deno.test("engine host gives n answers, each that of the next seed alone, and counts them together", async () => {
  const ask = { seed: 11, max_tokens: 12, ignore_eos: true };
  for (
    const [path, what] of [[CHAT, { messages }], [COMPLETION, {
      prompt: "The fox",
    }]] as const
  ) {
    const whole = await host.json(path, { ...ask, ...what, n: 4 });
    const choices: Choice[] = whole.choices;
    assert.deepEqual(choices.map(({ index }) => index), [0, 1, 2, 3]);
    const texts = choices.map(({ text, message }) => text ?? message?.content);
    for (const index of [0, 3]) {
      const alone = await host.json(path, {
        ...ask,
        ...what,
        seed: ask.seed + index,
      });
      const [choice] = alone.choices;
      assert.equal(choice.text ?? choice.message.content, texts[index]);
      assert.equal(whole.usage.prompt_tokens, alone.usage.prompt_tokens);
    }
    assert.ok(new Set(texts).size > 1);
    assert.equal(whole.usage.completion_tokens, 4 * 12);
    assert.equal(whole.timings.predicted_n, 4 * 12);
    for (const { finish_reason } of choices) {
      assert.equal(finish_reason, "length");
    }
  }
});

Deno.test("engine host streams n answers with an opening and an end each, one usage and one terminator", async () => {
  const ask = {
    messages,
    seed: 11,
    n: 3,
    max_tokens: 8,
    ignore_eos: true,
    logprobs: true,
  };
  const whole = await host.json(CHAT, ask);
  const events = await readStream(
    await host.ask(CHAT, {
      ...ask,
      stream: true,
      stream_options: { include_usage: true },
    }),
  );
  assert.equal(events.at(-1), "[DONE]");
  assert.equal(events.filter((event) => event === "[DONE]").length, 1);
  const { usage, choices } = events.at(-2);
  assert.deepEqual(choices, []);
  assert.equal(usage.completion_tokens, 3 * 8);
  const chunks = events.slice(0, -2).map((event) => event.choices[0]);
  for (const index of [0, 1, 2]) {
    const own = chunks.filter((chunk) => chunk.index === index);
    assert.equal(own[0].delta.role, "assistant");
    assert.equal(own.filter((chunk) => chunk.delta.role).length, 1);
    assert.equal(own.at(-1).finish_reason, "length");
    assert.equal(own.filter((chunk) => chunk.finish_reason).length, 1);
    const text = own.map((chunk) => chunk.delta.content ?? "").join("");
    assert.equal(text, whole.choices[index].message.content);
    const logprobs = own.flatMap((chunk) => chunk.logprobs?.content ?? []);
    assert.equal(logprobs.length, 8);
    assert.equal(whole.choices[index].logprobs.content.length, 8);
  }
});

Deno.test("engine host writes two of n answers side by side where two slots are free", async () => {
  const events = await readStream(
    await host.ask(CHAT, {
      messages,
      n: 2,
      max_tokens: 200,
      ignore_eos: true,
      stream: true,
    }),
  );
  const order: number[] = events.slice(0, -1)
    .map((event) => event.choices[0].index);
  const changes = order.filter((index, at) => index !== order[at - 1]).length;
  assert.ok(changes > 20, `changed ${changes} times over ${order.length}`);
});

Deno.test("engine host holds each of n answers to the schema and ends each at its own stop", async () => {
  const schema = {
    type: "object",
    properties: { colour: { enum: ["red", "green"] } },
    required: ["colour"],
  };
  const answer = await host.json(CHAT, {
    messages,
    n: 3,
    seed: 1,
    max_tokens: 60,
    response_format: { type: "json_schema", json_schema: { schema } },
  });
  for (const { message, finish_reason } of answer.choices) {
    assert.equal(finish_reason, "stop");
    assert.match(JSON.parse(message.content).colour, /^(red|green)$/);
  }
});

Deno.test("engine host stops all n answers when the client leaves", async () => {
  const ask = { messages, n: 5, ignore_eos: true, max_tokens: 2000 };
  const { body } = await host.ask(CHAT, { ...ask, stream: true });
  await untilBusy(2);
  await body?.cancel();
  await untilBusy(0);

  const leaving = new AbortController();
  const { signal } = leaving;
  const gone = assert.rejects(host.ask(CHAT, ask, { signal }));
  await untilBusy(2);
  leaving.abort();
  await gone;
  await untilBusy(0);
});

Deno.test("engine host refuses n beside an answer to go on with, and more than it gives", async () => {
  for (
    const more of [
      { n: 2, covey_resume: { text: "La", tokens: 1 } },
      { n: 17 },
      { n: 0 },
    ]
  ) {
    const refused = await host.ask(CHAT, { messages, ...more });
    assert.equal(refused.status, 400);
    assert.equal((await refused.json()).error.param, "n");
  }
});

/** Ask for the slots until so many compute. */
async function untilBusy(count: number): Promise<void> {
  await untilSlots(
    host,
    (slots) =>
      slots.filter(({ is_processing }) => is_processing).length === count,
  );
}
