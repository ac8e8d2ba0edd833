import assert from "node:assert/strict";
import { Fault, type JsonValue, streamOf } from "../../src/domain/mod.ts";
import { replyOf } from "../../src/engines/http_client.ts";
import { dispatchHttp } from "../../src/engines/http_dispatch.ts";
import {
  eventsOfWhole,
  WholeAsEvents,
} from "../../src/engines/whole_as_events.ts";
import { buildAttempt } from "../fakes/attempt_builder.ts";

const never = new AbortController().signal;
const CALL = {
  id: "c",
  type: "function",
  function: { name: "look", arguments: "{}" },
};
const CHAT = {
  id: "a",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{
    index: 0,
    message: { role: "assistant", content: null, tool_calls: [CALL] },
    finish_reason: "tool_calls",
  }],
  usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
};

function eventsIn(text: string | undefined): readonly unknown[] {
  return (text ?? "").split("\n\n").filter((event) => event !== "").map(
    (event) => {
      const data = event.replace(/^data: /, "");
      return data === "[DONE]" ? data : JSON.parse(data);
    },
  );
}

Deno.test("eventsOfWhole writes a chat as its message, its end, its usage and the terminator", () => {
  const base = {
    id: "a",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
  };
  assert.deepEqual(eventsIn(eventsOfWhole(CHAT)), [
    {
      ...base,
      choices: [{
        index: 0,
        delta: {
          role: "assistant",
          content: null,
          tool_calls: [{ index: 0, ...CALL }],
        },
        finish_reason: null,
      }],
    },
    {
      ...base,
      choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }],
    },
    { ...base, choices: [], usage: CHAT.usage },
    "[DONE]",
  ]);
});

Deno.test("eventsOfWhole passes the choices of a plain completion on, and an error", () => {
  const choice = { index: 0, text: "hi", finish_reason: "stop" };
  const head = { object: "text_completion" };
  assert.deepEqual(
    eventsIn(eventsOfWhole({ ...head, choices: [choice] })),
    [{ ...head, choices: [choice] }, "[DONE]"],
  );
  const error = { error: { message: "boom" } };
  assert.deepEqual(eventsIn(eventsOfWhole(error)), [error]);
  for (const none of [undefined, null, 1, "x", []]) {
    assert.equal(eventsOfWhole(none), undefined);
  }
});

function dispatch(stream: boolean, response: Response) {
  const client = {
    post: () => Promise.resolve(replyOf(response)),
    [Symbol.dispose]() {},
  };
  return dispatchHttp(
    { client, headers: {}, died: never },
    buildAttempt("m", { stream }),
    never,
    () => {},
  );
}

Deno.test("dispatchHttp makes a stream of a whole answer where one was asked for", async () => {
  const answer = await dispatch(true, Response.json(CHAT));
  assert.equal(answer.contentType, "text/event-stream");
  assert.equal(
    await new Response(answer.body).text(),
    eventsOfWhole(CHAT),
  );
  const refused = await dispatch(true, Response.json({}, { status: 400 }));
  assert.equal(refused.contentType, "application/json");
  assert.equal(await new Response(refused.body).text(), "{}");
});

Deno.test("dispatchHttp refuses a stream where an answer was asked for whole, and lets go of it", async () => {
  let isCancelled = false;
  const body = new ReadableStream({
    cancel() {
      isCancelled = true;
    },
  });
  const headers = { "content-type": "text/event-stream; charset=utf-8" };
  await assert.rejects(
    dispatch(false, new Response(body, { headers })),
    (error) =>
      error instanceof Fault && /streams its answer/.test(error.message),
  );
  assert(isCancelled);
});

Deno.test("dispatchHttp takes an answer without a type for what was asked for", async () => {
  const untyped = () => new Response(new Uint8Array([100]));
  for (
    const [stream, type] of [
      [true, "text/event-stream"],
      [false, "application/json"],
    ] as const
  ) {
    const answer = await dispatch(stream, untyped());
    assert.equal(answer.contentType, type);
    assert.equal(await new Response(answer.body).text(), "d");
  }
});

Deno.test("WholeAsEvents ends in a fault where the whole is none, and can be given up", async () => {
  const cancelled: unknown[] = [];
  const sourceOf = (value: JsonValue) => {
    const pieces = [new TextEncoder().encode(JSON.stringify(value))];
    return {
      read: () => Promise.resolve(pieces.shift()),
      cancel: (reason: unknown) => Promise.resolve(void cancelled.push(reason)),
    };
  };
  await assert.rejects(
    new Response(streamOf(new WholeAsEvents(sourceOf([])))).text(),
    Fault,
  );
  const given = new WholeAsEvents(sourceOf(CHAT));
  await given.cancel("left");
  assert.deepEqual(cancelled, ["left"]);
  assert.equal(await given.read(), undefined);
});
