import assert from "node:assert/strict";
import { Standings } from "../../src/router/standings.ts";
import { nodeIdOf } from "../fakes/scripted_engine.ts";

const CHAT = { key: "2/chat", node: nodeIdOf(2) };
const SPEECH = { key: "2/speech", node: nodeIdOf(2) };
const OTHER = { key: "3/chat", node: nodeIdOf(3) };

function fail(
  standings: Standings,
  blame: "engine" | "member",
  times: number,
): void {
  for (let n = 0; n < times; n++) {
    standings.settle(CHAT, standings.pass(CHAT, 0), {
      engine: blame === "engine" ? "error" : "neutral",
      member: blame === "member" ? "error" : "neutral",
    }, 0);
  }
}

Deno.test("Standings bars one engine for its own failures, all of a member for its link's", () => {
  const standings = new Standings();
  fail(standings, "engine", 5);
  assert.equal(standings.bar(CHAT, 1)?.kind, "breaker_open");
  assert.equal(standings.bar(SPEECH, 1), null);
  const linked = new Standings();
  fail(linked, "member", 5);
  assert.deepEqual(linked.bar(SPEECH, 10_000), {
    kind: "breaker_open",
    retryInMs: 20_000,
  });
  assert.equal(linked.bar(OTHER, 1), null);
  assert.equal(linked.bar(SPEECH, 30_000), null);
});

Deno.test("Standings lets an engine rest until the longest time it asked for (RET-03)", () => {
  const standings = new Standings();
  const time = { monotonicMs: 100, wallMs: 0 };
  assert.equal(standings.rest(CHAT, "1", time), 1000);
  assert.equal(standings.rest(CHAT, null, time), 30_000);
  assert.equal(standings.rest(CHAT, "1", time), 30_000);
  assert.deepEqual(standings.bar(CHAT, 10_100), {
    kind: "cooling_down",
    retryInMs: 20_000,
  });
  assert.equal(standings.bar(SPEECH, 10_100), null);
  assert.equal(standings.bar(CHAT, 30_100), null);
});
