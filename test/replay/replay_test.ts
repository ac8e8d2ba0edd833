import assert from "node:assert/strict";
import { readRecords, replay } from "../../scripts/replay/replay.ts";
import { place } from "../../src/router/place.ts";
import type { DecisionRecord } from "../../src/domain/mod.ts";
import { placeInputOf } from "../../src/router/placement_inputs.ts";
import { chatRequest } from "../fakes/chat_request.ts";
import { setUpRouter } from "../fakes/router_setup.ts";
import { answeringIn, type Script } from "../fakes/scripted_engine.ts";
import { until } from "../fakes/simulated_pair.ts";

/** Records of requests that a router of three engines served, as they come out of JSON. */
async function recordedRun(): Promise<readonly DecisionRecord[]> {
  const script = (): Script => answeringIn(2000, 20);
  const { router, clock } = setUpRouter(script, [script, script], {
    policy: "balanced",
  });
  const answers = Promise.all(
    Array.from({ length: 8 }, async () => {
      const signal = new AbortController().signal;
      const answer = await router.route(chatRequest(), signal);
      await new Response(answer.body).text();
      return answer.decision;
    }),
  );
  const ids = await until(clock, answers);
  const lines = ids.map((id) => JSON.stringify(router.decision(id)));
  await router[Symbol.asyncDispose]();
  return readRecords(lines.join("\n"));
}

Deno.test("replay makes every recorded choice again from the record alone", async () => {
  const records = await recordedRun();
  assert.equal(records.length, 8);
  for (const record of records) assert.equal(replay(record).kind, "same");
  const nodes = new Set(records.map(({ chosen }) => chosen?.node));
  assert(nodes.size > 1, "all went to one node, which replays too easily");
});

Deno.test("replay gives every candidate the same terms", async () => {
  for (const record of await recordedRun()) {
    const input = placeInputOf(record);
    assert(input !== null);
    assert.deepEqual(
      JSON.parse(JSON.stringify(place(input).candidates)),
      record.candidates,
    );
  }
});

Deno.test("replay says where another choice would be made now", async () => {
  const [record] = await recordedRun();
  assert(record?.inputs !== undefined && record.chosen !== null);
  const { chosen, inputs } = record;
  const engines = inputs.engines.map((engine) =>
    engine.node === chosen.node
      ? { ...engine, bar: { kind: "breaker_open", retryInMs: 1000 } as const }
      : engine
  );
  const changed = replay({ ...record, inputs: { ...inputs, engines } });
  assert.equal(changed.kind, "differs");
});

Deno.test("readRecords names the line that is no record", () => {
  assert.throws(() => readRecords('\n{"id":1}'), /Line 2 is no decision/);
});
