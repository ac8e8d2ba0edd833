import assert from "node:assert/strict";
import type { JsonObject } from "../../src/domain/mod.ts";
import { buildAttempt } from "../fakes/attempt_builder.ts";
import { setUpSimulated } from "../fakes/simulated_setup.ts";

/** What an engine of 100 tokens a second answers. */
async function ask(
  body: JsonObject,
  stream: boolean,
  maxOutputTokens: number | null = null,
): Promise<{ readonly status: number; readonly text: string }> {
  const { clock, engine } = setUpSimulated();
  await using _owner = engine;
  const started = await engine.start(
    buildAttempt("m", {
      stream,
      maxOutputTokens,
      body: { messages: [{ role: "user", content: "Hello" }], ...body },
    }),
    new AbortController().signal,
  );
  assert(started.kind === "accepted");
  const answering = started.answer();
  await clock.advance(20_000);
  const answer = await answering;
  return {
    status: answer.status,
    text: await new Response(answer.body).text(),
  };
}

const TOOLS = ["look", "set_light"].map((name) => ({
  type: "function",
  function: {
    name,
    parameters: {
      type: "object",
      properties: { on: { type: "boolean" }, room: { enum: ["hall"] } },
      required: ["on", "room"],
    },
  },
}));
const SET_LIGHT = { type: "function", function: { name: "set_light" } };

Deno.test("createSimulatedEngine calls the tool that is asked for with arguments of its schema", async () => {
  const { text } = await ask({ tools: TOOLS, tool_choice: SET_LIGHT }, false);
  const { choices: [choice], usage } = JSON.parse(text);
  assert.equal(choice.finish_reason, "tool_calls");
  assert.equal(choice.message.content, null);
  const [call, ...more] = choice.message.tool_calls;
  assert.deepEqual(more, []);
  assert.equal(call.type, "function");
  assert.deepEqual(call.function, {
    name: "set_light",
    arguments: '{"on":false,"room":"hall"}',
  });
  // 26 characters, four a token.
  assert.equal(usage.completion_tokens, 7);
});

Deno.test("createSimulatedEngine streams a call token by token", async () => {
  const { text } = await ask({ tools: TOOLS, tool_choice: "required" }, true);
  const chunks = text.split("\n\n").filter((event) =>
    event.startsWith("data: {")
  )
    .map((event) => JSON.parse(event.slice("data: ".length)));
  const deltas = chunks.flatMap(({ choices }) =>
    choices[0]?.delta.tool_calls ?? []
  );
  assert.equal(deltas.length, 7);
  assert.equal(deltas[0].function.name, "look");
  assert.equal(typeof deltas[0].id, "string");
  assert.deepEqual(Object.keys(deltas[1]), ["index", "function"]);
  assert.deepEqual(
    JSON.parse(
      deltas.map(({ function: { arguments: part } }) => part).join(""),
    ),
    { on: false, room: "hall" },
  );
  assert.ok(
    chunks.some(({ choices }) => choices[0]?.finish_reason === "tool_calls"),
  );
});

Deno.test("createSimulatedEngine answers with words once it has the result of a tool, or may call none", async () => {
  const result = { role: "tool", tool_call_id: "call_1", content: "done" };
  for (
    const body of [
      { messages: [{ role: "user", content: "Hello" }, result], tools: TOOLS },
      { tools: TOOLS, tool_choice: "none" },
    ]
  ) {
    const { text } = await ask(body, false, 2);
    const { choices: [choice] } = JSON.parse(text);
    assert.equal(choice.message.content, "w1 w2 ");
    assert.equal(choice.message.tool_calls, undefined);
  }
});

Deno.test("createSimulatedEngine writes JSON of the schema, cut where the tokens asked for end", async () => {
  const response_format = {
    type: "json_schema",
    json_schema: {
      name: "verdict",
      schema: {
        type: "object",
        properties: { verdict: { enum: ["yes", "no"] } },
        required: ["verdict"],
      },
    },
  };
  const whole = JSON.parse((await ask({ response_format }, false)).text);
  assert.equal(whole.choices[0].message.content, '{"verdict":"yes"}');
  assert.equal(whole.choices[0].finish_reason, "stop");
  const cut = JSON.parse((await ask({ response_format }, false, 2)).text);
  assert.equal(cut.choices[0].message.content, '{"verdic');
  assert.equal(cut.choices[0].finish_reason, "length");
});

Deno.test("createSimulatedEngine refuses a schema that it can not simulate, and a tool that is not there", async () => {
  const schema = { type: "string", pattern: "^a" };
  const refused = await ask({
    response_format: {
      type: "json_schema",
      json_schema: { name: "a", schema },
    },
  }, false);
  assert.equal(refused.status, 400);
  const { error } = JSON.parse(refused.text);
  assert.equal(error.param, "response_format");
  assert.match(error.message, /"pattern" is not simulated/);
  const missing = await ask({
    tools: TOOLS,
    tool_choice: { type: "function", function: { name: "lok" } },
  }, false);
  assert.equal(missing.status, 400);
  assert.match(JSON.parse(missing.text).error.message, /"lok"/);
});
