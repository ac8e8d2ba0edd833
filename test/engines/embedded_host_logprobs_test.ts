import assert from "node:assert/strict";
import type { Token } from "node-llama-cpp";
import {
  chosenToken,
  HeldTokens,
} from "../../src/engines/embedded/host/token_chances.ts";
import { hostOfFile, readStream } from "./embedded_host_driver.ts";

const host = hostOfFile("chat");
const CHAT = "/v1/chat/completions";
const COMPLETION = "/v1/completions";
const messages = [{ role: "user", content: "Tell me" }];

interface Described {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: readonly number[];
  readonly top_logprobs: readonly Described[];
}

function near(a: number, b: number): void {
  assert.ok(Math.abs(a - b) < 1e-3, `${a} is not ${b}`);
}

Deno.test("engine host gives each token of a chat its log probability and the likeliest in its place", async () => {
  const ask = {
    messages,
    seed: 5,
    temperature: 0.5,
    max_tokens: 12,
    logprobs: true,
  };
  const { choices: [choice] } = await host.json(CHAT, {
    ...ask,
    top_logprobs: 4,
  });
  const content: readonly Described[] = choice.logprobs.content;
  assert.equal(
    content.map(({ token }) => token).join(""),
    choice.message.content,
  );
  for (const { token, bytes, logprob, top_logprobs: top } of content) {
    assert.equal(new TextDecoder().decode(new Uint8Array(bytes)), token);
    assert.ok(logprob <= 0);
    assert.equal(top.length, 4);
    const order = top.map((one) => one.logprob);
    assert.deepEqual(order, order.toSorted((a, b) => b - a));
    const own = top.find((one) => one.token === token);
    if (own !== undefined) assert.equal(own.logprob, logprob);
    else assert.ok(logprob <= (order.at(-1) ?? 0));
  }
  const { choices: [bare] } = await host.json(CHAT, ask);
  assert.deepEqual(
    bare.logprobs.content.map(({ token }: Described) => token),
    content.map(({ token }) => token),
  );
  for (
    const [at, { logprob, top_logprobs }] of bare.logprobs.content.entries()
  ) {
    near(logprob, content[at]?.logprob ?? NaN);
    assert.deepEqual(top_logprobs, []);
  }
  const { choices: [none] } = await host.json(CHAT, {
    messages,
    max_tokens: 2,
  });
  assert.equal(none.logprobs, null);
});

Deno.test("engine host's log probabilities are the model's own at any temperature", async () => {
  const first = async (temperature: number) => {
    const { choices: [choice] } = await host.json(CHAT, {
      messages,
      temperature,
      max_tokens: 1,
      seed: 1,
      logprobs: true,
      top_logprobs: 3,
    });
    return choice.logprobs.content[0].top_logprobs;
  };
  const plain = await first(1);
  for (const temperature of [0, 0.7, 1.5]) {
    for (
      const [at, { token, logprob }] of (await first(temperature)).entries()
    ) {
      assert.equal(token, plain[at].token);
      near(logprob, plain[at].logprob);
    }
  }
});

Deno.test("engine host streams the same log probabilities, with the text that they are of", async () => {
  for (const stop of [undefined, "e "]) {
    const ask = {
      messages,
      seed: 9,
      max_tokens: 24,
      logprobs: true,
      top_logprobs: 2,
      stop,
    };
    const { choices: [whole] } = await host.json(CHAT, ask);
    const events = await readStream(
      await host.ask(CHAT, { ...ask, stream: true }),
    );
    const streamed: Described[] = [];
    let text = "";
    for (const { choices } of events.slice(0, -1)) {
      text += choices[0].delta.content ?? "";
      streamed.push(...choices[0].logprobs?.content ?? []);
      const told = streamed.map(({ token }) => token).join("");
      assert.ok(told.startsWith(text), "no text before its tokens");
    }
    assert.equal(text, whole.message.content);
    assert.deepEqual(
      streamed.map(({ token }) => token),
      whole.logprobs.content.map(({ token }: Described) => token),
    );
    for (const [at, { logprob }] of streamed.entries()) {
      near(logprob, whole.logprobs.content[at].logprob);
    }
  }
});

Deno.test("engine host gives completions the older form, whole and streamed alike", async () => {
  const ask = { prompt: "The fox", seed: 3, max_tokens: 10, logprobs: 2 };
  const { choices: [whole] } = await host.json(COMPLETION, ask);
  const { tokens, token_logprobs, top_logprobs, text_offset } = whole.logprobs;
  assert.equal(tokens.join(""), whole.text);
  assert.equal(token_logprobs.length, tokens.length);
  for (const [at, offset] of text_offset.entries()) {
    assert.ok(whole.text.slice(offset).startsWith(tokens[at]));
    assert.equal(Object.keys(top_logprobs[at]).length, 2);
  }
  const events = await readStream(
    await host.ask(COMPLETION, { ...ask, stream: true }),
  );
  const parts = events.slice(0, -1).flatMap(({ choices }) =>
    choices[0]?.logprobs ?? []
  );
  assert.deepEqual(parts.flatMap((one) => one.tokens), tokens);
  assert.deepEqual(parts.flatMap((one) => one.text_offset), text_offset);
  // What is in the cache was evaluated in another company.
  for (
    const [at, logprob] of parts.flatMap((one) => one.token_logprobs).entries()
  ) near(logprob, token_logprobs[at]);
});

Deno.test("chosenToken undoes the temperature, and bounds what is next to impossible", () => {
  const id = (token: number) => token as Token;
  // Logits 2, 1 and -400 at temperature 2.
  const scaled = [Math.exp(1), Math.exp(0.5), 0];
  const sum = scaled.reduce((all, one) => all + one, 0);
  const probabilities = new Map(
    scaled.map((one, at) => [id(at), one / sum]),
  );
  const chosen = chosenToken(
    { token: id(1), probabilities },
    2,
    3,
    (token) => `t${token}`,
  );
  const norm = Math.log(Math.exp(2) + Math.exp(1));
  near(chosen.logprob, 1 - norm);
  assert.deepEqual(chosen.top.map(({ text }) => text), ["t0", "t1", "t2"]);
  near(chosen.top[0]?.logprob ?? NaN, 2 - norm);
  assert.equal(chosen.top[2]?.logprob, -9999);
});

Deno.test("HeldTokens lets tokens go with their text, and keeps what a stop string hid", () => {
  const held = new HeldTokens();
  const push = (text: string, piece = text) =>
    held.push({ text, logprob: 0, top: [] }, piece);
  const take = (text: string) => held.take(text).map((one) => one.text);
  push("ab");
  push("cd");
  assert.deepEqual(take("a"), ["ab"], "shown in part");
  assert.deepEqual(take("bcd"), ["cd"]);
  push("half of a character", "");
  push("é");
  push("STOP");
  assert.deepEqual(take("é"), ["half of a character", "é"]);
  assert.deepEqual(take(""), []);
});
