import assert from "node:assert/strict";
import { hostOfFile, readStream } from "./embedded_host_driver.ts";

const host = hostOfFile("chat");

const ASK = {
  messages: [{ role: "user", content: "Tell me" }],
  temperature: 0,
  max_tokens: 40,
  ignore_eos: true,
  stream: true,
  stream_options: { include_usage: true },
};

interface Answer {
  readonly words: readonly string[];
  readonly finish: string;
  // deno-lint-ignore no-explicit-any
  readonly usage: any;
}

async function answer(path: string, body: unknown): Promise<Answer> {
  const events = (await readStream(await host.ask(path, body))).slice(0, -1);
  const choices = events.flatMap((event) => event.choices);
  return {
    words: choices.map((one) => one.delta?.content ?? one.text ?? "")
      .filter((word) => word !== ""),
    finish: choices.at(-1).finish_reason,
    usage: events.at(-1).usage,
  };
}

/** Text is cut into tokens again where an answer goes on; only where that gives the same ones must the rest be the same. */
async function tokensOf(content: string): Promise<number> {
  return (await host.json("/tokenize", { content })).tokens.length;
}

Deno.test("engine host goes on with an answer and says what it would have said, at temperature 0", async () => {
  const { messages: _, ...asCompletion } = ASK;
  for (
    const [path, ask] of [
      ["/v1/chat/completions", ASK],
      ["/v1/completions", { ...asCompletion, prompt: "Once upon" }],
    ] as const
  ) {
    const whole = await answer(path, ask);
    let compared = 0;
    for (const tokens of [1, 5, 12, 20, 27, 33, 39]) {
      const text = whole.words.slice(0, tokens).join("");
      const rest = await answer(path, {
        ...ask,
        covey_resume: { text, tokens },
      });
      assert.equal(rest.finish, "length");
      assert.deepEqual(
        { ...rest.usage, prompt_tokens_details: null },
        { ...whole.usage, prompt_tokens_details: null },
        "the usage is that of the whole answer",
      );
      if (await tokensOf(text) !== tokens) continue;
      compared++;
      assert.equal(
        rest.words.join(""),
        whole.words.slice(tokens).join(""),
        `${path} from token ${tokens}`,
      );
    }
    assert(compared > 0, "no cut whose tokens are the same");
  }
});

Deno.test("engine host has nothing to add where the bound is reached", async () => {
  const { words, finish, usage } = await answer("/v1/chat/completions", {
    ...ASK,
    covey_resume: { text: "all of it", tokens: 40 },
  });
  assert.deepEqual([words, finish], [[], "length"]);
  assert.equal(usage.completion_tokens, 40);
});

Deno.test("engine host refuses to go on with what is no text", async () => {
  for (const resume of [7, { text: 7, tokens: 1 }, { text: "a", tokens: -1 }]) {
    const response = await host.ask("/v1/chat/completions", {
      ...ASK,
      covey_resume: resume,
    });
    assert.equal(response.status, 400);
    await response.body?.cancel();
  }
});
