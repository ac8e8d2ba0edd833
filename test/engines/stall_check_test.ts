import assert from "node:assert/strict";
import { Fault } from "../../src/domain/mod.ts";
import {
  type HttpCall,
  type HttpClient,
  type HttpReply,
  replyOf,
} from "../../src/engines/http_client.ts";
import { orAborted } from "../../src/platform/mod.ts";
import { buildAttempt } from "../fakes/attempt_builder.ts";
import { model, setUp } from "../fakes/embedded_setup.ts";
import { until } from "../fakes/simulated_pair.ts";

const MINUTE_MS = 60_000;
const TIMED_OUT = new Fault("engine_timeout", "Silent for 15 s");

/** An engine whose processes take calls and answer them when the test says so. */
function hanging() {
  const calls: HttpCall[] = [];
  const answers: PromiseWithResolvers<HttpReply>[] = [];
  const createClient = (): HttpClient => ({
    post(call, signal) {
      calls.push(call);
      const answer = Promise.withResolvers<HttpReply>();
      answers.push(answer);
      return orAborted(answer.promise, signal);
    },
    [Symbol.dispose]() {},
  });
  const setup = setUp({ createClient });
  setup.processes.onSpawn = (child) => child.becomeReady();
  /** Ask, and give up for a reason once the process has the call. */
  const giveUp = async (name: string, reason: unknown, afterMs = 0) => {
    const client = new AbortController();
    const attempt = buildAttempt(name, {
      capability: name === "vectors" ? "embedding" : "chat",
    });
    const started = await setup.engine.start(attempt, client.signal);
    assert.equal(started.kind, "accepted");
    const before = calls.length;
    const answer = assert.rejects(started.answer());
    while (calls.length === before) await setup.clock.advance(10);
    await setup.clock.advance(afterMs);
    client.abort(reason);
    await answer;
  };
  return { ...setup, answers, calls, giveUp };
}

Deno.test("createEmbeddedEngine ends a process that callers gave up and that gives no sign of life, and starts another", async () => {
  const { calls, clock, engine, giveUp, processes, state } = hanging();
  await using _owner = engine;
  await giveUp("a", TIMED_OUT);
  const [first] = processes.children;
  assert.ok(first);
  first.obeys = false;
  const [, sign] = calls;
  assert.equal(sign?.path, "/v1/completions");
  assert.equal(JSON.parse(String(sign?.body)).max_tokens, 1);
  await clock.advance(2 * MINUTE_MS - 1);
  assert.equal(state("a"), "warm");
  await clock.advance(1);
  assert.equal(state("a"), "cold", "nobody else is sent there");
  await until(clock, first.exited);
  assert.deepEqual(first.signals, ["SIGTERM", "SIGKILL"]);
  while (state("a") !== "failed") await clock.advance(10);
  const [offer] = engine.view().offers;
  assert.match(
    offer?.state.kind === "failed" ? offer.state.reason : "",
    /engine of "a" hangs: .* no sign of life for 120 s/,
  );
  await clock.advance(1_000);
  await giveUp("a", "The client left");
  assert.equal(processes.children.length, 2);
});

Deno.test("createEmbeddedEngine leaves a process alone that answers, whatever it says", async () => {
  const { answers, calls, clock, engine, giveUp, models, processes, state } =
    hanging();
  await using _owner = engine;
  models.push(model("vectors", { capabilities: ["embedding"], features: [] }));
  await giveUp("vectors", TIMED_OUT);
  assert.equal(calls[1]?.path, "/v1/embeddings");
  answers[1]?.resolve(
    replyOf(Response.json({ error: "too much" }, { status: 503 })),
  );
  await clock.advance(2 * MINUTE_MS);
  assert.equal(state("vectors"), "warm");
  assert.deepEqual(processes.last.signals, []);
});

Deno.test("createEmbeddedEngine suspects a process only of those who waited long for it, and asks it once nobody else does", async () => {
  const { calls, clock, engine, giveUp } = hanging();
  await using _owner = engine;
  await giveUp("a", "The client left", 14_000);
  assert.equal(calls.length, 1);
  const other = new AbortController();
  const started = await engine.start(buildAttempt("a"), other.signal);
  assert.equal(started.kind, "accepted");
  const answer = assert.rejects(started.answer());
  while (calls.length === 1) await clock.advance(10);
  await giveUp("a", TIMED_OUT);
  assert.equal(calls.length, 3, "somebody still waits for an answer");
  await clock.advance(15_000);
  other.abort("The client left");
  await answer;
  assert.equal(calls.length, 4);
});

Deno.test("createEmbeddedEngine ends with its node while it waits for a sign of life", async () => {
  const { clock, engine, giveUp, processes } = hanging();
  await giveUp("a", TIMED_OUT);
  processes.last.obeys = false;
  await until(clock, Promise.resolve(engine[Symbol.asyncDispose]()));
  assert.deepEqual(processes.last.signals, ["SIGTERM", "SIGKILL"]);
});
