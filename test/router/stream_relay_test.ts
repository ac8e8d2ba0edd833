import assert from "node:assert/strict";
import { StreamRelay } from "../../src/router/stream_relay.ts";
import { DONE, event, finish, ROLE, text } from "../fakes/scripted_engine.ts";

const USAGE = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };

function relay(events: readonly string[], includeUsage = false) {
  const one = new StreamRelay(includeUsage);
  const steps = events.map((raw) => {
    const step = one.take({
      bytes: new TextEncoder().encode(raw),
      event: null,
    });
    const sent = step.kind === "send" || step.kind === "complete"
      ? step.events.map((bytes) => new TextDecoder().decode(bytes)).join("")
      : step.kind;
    return sent;
  });
  return { steps, tally: one.tally };
}

Deno.test("StreamRelay holds everything until the first content and shows one role (SSE-06)", () => {
  const { steps } = relay([": wait\n\n", ROLE, text("a"), text("b")]);
  assert.deepEqual(steps, ["held", "held", ROLE + text("a"), text("b")]);
});

Deno.test("StreamRelay drops comments before content and keeps them after (SSE-03)", () => {
  const { steps, tally } = relay([":\n\n", text("a"), ": c\n\n", text("b")]);
  assert.deepEqual(steps, ["held", text("a"), ": c\n\n", text("b")]);
  assert.equal(tally.outputTokens, 2);
});

Deno.test("StreamRelay counts usage chunks and hides them from those who did not ask (SSE-08)", () => {
  const { steps, tally } = relay([
    text("a"),
    event({ choices: [], usage: USAGE }),
    event({ usage: USAGE }),
    DONE,
  ]);
  assert.deepEqual(steps, [text("a"), "", "", DONE]);
  assert.equal(tally.outputTokens, 3);
  assert.equal(tally.promptTokens, 7);
});

Deno.test("StreamRelay gives those who asked exactly one usage chunk before the terminator (SSE-08)", () => {
  const shapes = [
    [event({ id: "c1", choices: [], usage: USAGE })],
    [event({ usage: USAGE })],
    [event({ choices: [], usage: USAGE }), event({ usage: USAGE })],
  ];
  for (const shape of shapes) {
    const { steps } = relay([ROLE, text("a"), finish(), ...shape, DONE], true);
    const last = steps.at(-1) ?? "";
    assert(last.endsWith(DONE));
    const chunk = JSON.parse(last.slice(6, last.indexOf("\n")));
    assert.deepEqual(chunk.choices, []);
    assert.deepEqual(chunk.usage, USAGE);
    assert.equal(chunk.id, "c1");
    assert.equal(steps.join("").split('"usage"').length, 2);
  }
});

Deno.test("StreamRelay releases an answer without content at its terminator", () => {
  const { steps } = relay([ROLE, finish(), DONE]);
  assert.deepEqual(steps, ["held", "held", ROLE + finish() + DONE]);
});

Deno.test("StreamRelay breaks at errors, at unreadable events and at endless preludes", () => {
  assert.equal(relay([text("a"), event({ error: "x" })]).steps[1], "broken");
  assert.equal(relay(["data: {\n\n"]).steps[0], "broken");
  const long = event({ choices: [{ delta: { role: "a".repeat(100_000) } }] });
  assert.equal(relay(Array(12).fill(long)).steps.at(-1), "broken");
});
