import assert from "node:assert/strict";
import { readRecords, replay } from "../../scripts/replay/replay.ts";
import { chatRequest } from "../fakes/chat_request.ts";
import { CHAT, simulatedNodes, until } from "../fakes/simulated_pair.ts";

const NEVER = new AbortController().signal;

Deno.test("latestDecisions gives what was decided, newest first, and a replay of it as JSON chooses the same", async () => {
  await using setup = simulatedNodes({
    models: [{ ...CHAT, slots: 1 }],
    faults: [{}, {}, {}],
    hopMs: 1,
  });
  const { clock, router } = setup;
  const chosen: string[] = [];
  // Three at once each time, so that queues and own dispatches matter.
  for (let round = 0; round < 5; round++) {
    const answers = await Promise.all(
      [0, 1, 2].map((n) =>
        until(
          clock,
          router.route(
            chatRequest({
              stream: false,
              promptTokens: 50 + 400 * n,
              maxOutputTokens: 20 + 30 * round,
            }),
            NEVER,
          ),
        )
      ),
    );
    for (const { body, node } of answers) {
      chosen.push(node);
      await new Response(body).text();
    }
  }
  assert(new Set(chosen).size > 1, "all went to one node");
  const listed = router.latestDecisions(1000);
  assert.equal(listed.length, 15);
  const [newest, ...older] = listed;
  assert.deepEqual(router.latestDecisions(1), [newest]);
  const timeOf = (id = "") => id.split("-", 1)[0] ?? "";
  assert(older.every(({ id }) => timeOf(id) <= timeOf(newest?.id)));
  const text = listed.map((record) => JSON.stringify(record)).join("\n");
  const replayed = readRecords(text).map(replay);
  assert.deepEqual(
    replayed.map(({ kind }) => kind),
    listed.map(() => "same"),
  );
});
