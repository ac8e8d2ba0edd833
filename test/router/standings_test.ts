import assert from "node:assert/strict";
import fc from "fast-check";
import { type Pass, Standings } from "../../src/router/standings.ts";
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

const ENGINES = [CHAT, SPEECH, OTHER];
const OUTCOMES = ["success", "error", "neutral"] as const;
const events = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ ask: fc.constantFrom(...ENGINES) }) },
    {
      weight: 4,
      arbitrary: fc.record({
        settle: fc.nat({ max: 50 }),
        engine: fc.constantFrom(...OUTCOMES, "error" as const),
        member: fc.constantFrom(...OUTCOMES, "error" as const),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        waitMs: fc.constantFrom(1, 5000, 30_000, 61_000),
      }),
    },
  ),
  { maxLength: 120, size: "max" },
);

Deno.test("Standings lets one probe through a breaker that is not closed, and nobody while it is open", () => {
  fc.assert(
    fc.property(events, (all) => {
      const standings = new Standings();
      let nowMs = 1;
      /** Attempts that are out, and the breakers that each is a probe of. */
      const out: {
        readonly engine: typeof CHAT;
        readonly pass: Pass;
        readonly probes: ReadonlySet<string>;
      }[] = [];
      const states = (engine: typeof CHAT) =>
        [
          [engine.key, standings.engineBreaker(engine, nowMs)],
          [engine.node, standings.memberBreaker(engine.node, nowMs)],
        ] as const;
      for (const event of all) {
        if ("waitMs" in event) nowMs += event.waitMs;
        else if ("settle" in event) {
          const [ended] = out.splice(event.settle % Math.max(1, out.length), 1);
          if (ended === undefined) continue;
          standings.settle(ended.engine, ended.pass, event, nowMs);
        } else {
          const engine = event.ask;
          const before = states(engine);
          const isBarred = standings.bar(engine, nowMs) !== null;
          const isProbed = before.some(([name, state]) =>
            state === "half_open" && out.some(({ probes }) => probes.has(name))
          );
          const isOpen = before.some(([, state]) => state === "open");
          assert.equal(isBarred, isOpen || isProbed);
          if (isBarred) continue;
          const pass = standings.pass(engine, nowMs);
          const probes = new Set(
            before.flatMap(([name, state]) =>
              state === "half_open" ? [name] : []
            ),
          );
          out.push({ engine, pass, probes });
        }
      }
    }),
    { numRuns: 300 },
  );
});
