import assert from "node:assert/strict";
import type { Engine } from "../../src/domain/mod.ts";
import { createSeededEntropy, ManualClock } from "../../src/platform/mod.ts";
import { createRouter } from "../../src/router/mod.ts";
import { chatRequest } from "../fakes/chat_request.ts";
import { CountingMetrics } from "../fakes/counting_metrics.ts";
import { QuietLog } from "../fakes/quiet_log.ts";
import {
  answeringIn,
  nodeIdOf,
  offerOf,
  ScriptedEngine,
} from "../fakes/scripted_engine.ts";
import { StaleLink } from "../fakes/stale_link.ts";

const NEVER = new AbortController().signal;

function routerOf(
  clock: ManualClock,
  digit: number,
  engines: readonly Engine[],
  peers: () => readonly Engine[],
) {
  return createRouter({
    self: { id: nodeIdOf(digit), name: `node-${digit}` },
    localEngines: engines,
    peers,
    policy: "balanced",
    maxQueue: 64,
    clock,
    entropy: createSeededEntropy(digit),
    log: new QuietLog(),
    metrics: new CountingMetrics(),
  });
}

Deno.test("two entry nodes with stale reports of two engines do not herd", async () => {
  const clock = new ManualClock();
  const members = [3, 4].map((digit) => {
    const engine = new ScriptedEngine({
      clock,
      node: nodeIdOf(digit),
      offers: [offerOf()],
      script: () => answeringIn(1000, 100),
    });
    return {
      engine,
      digit,
      router: routerOf(clock, digit, [engine], () => []),
    };
  });
  const entries = [1, 2].map((digit) => {
    const links = members.map(({ digit: peer, router }) =>
      new StaleLink({
        clock,
        entry: nodeIdOf(digit),
        node: nodeIdOf(peer),
        peer: router,
      })
    );
    return { links, router: routerOf(clock, digit, [], () => links) };
  });
  const took: number[] = [];
  const asked: Promise<void>[] = [];
  // Both entries get four at once, three times; each polls once in 2 s.
  for (let burst = 0; burst < 3; burst++) {
    for (const { links, router } of entries) {
      for (const link of links) link.poll();
      for (let n = 0; n < 4; n++) {
        const atMs = clock.monotonic();
        asked.push(
          router.route(chatRequest(), NEVER)
            .then((answer) => new Response(answer.body).text())
            .then(() => void took.push(clock.monotonic() - atMs)),
        );
      }
    }
    await clock.advance(4000);
  }
  await clock.advance(5000);
  await Promise.all(asked);
  assert.equal(took.length, 24);
  const served = members.map(({ engine }) => engine.attempts.length);
  assert(Math.abs((served[0] ?? 0) - (served[1] ?? 0)) <= 2, `${served}`);
  // Four each is the best there is: a herd of all would take eight jobs' time.
  assert(Math.max(...took) <= 5100, `${Math.max(...took)}`);
  assert.equal(clock.pending, 0);
});
