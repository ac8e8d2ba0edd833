import assert from "node:assert/strict";
import {
  chooseTest,
  probeEngines,
  type TestableEngine,
  testLimitMs,
  testPauseMs,
} from "../../src/domain/mod.ts";
import { offerOf } from "../fakes/scripted_engine.ts";

function engine(part: Partial<TestableEngine> = {}): TestableEngine {
  return {
    id: "own",
    isPrivate: false,
    isMeasurable: true,
    availability: { kind: "available" },
    offers: [offerOf()],
    ...part,
  };
}

const GONE = { kind: "unavailable", reason: "It does not answer" } as const;
const BUSY = { slots: 1, runningMs: [500], waitingMs: [] };

Deno.test("chooseTest asks one token of a warm model with a free slot, and of nothing else", () => {
  const table: readonly [string, TestableEngine, "token" | "probe"][] = [
    ["a warm model", engine(), "token"],
    ["a cold model", offering({ state: { kind: "cold" } }), "probe"],
    [
      "a model being loaded",
      offering({ state: { kind: "loading", remainingMs: 1 } }),
      "probe",
    ],
    ["a device at work", offering({ queue: BUSY }), "probe"],
    ["a paid model", offering({ isPaid: true }), "probe"],
    ["a voice", offering({ capabilities: ["speech"] }), "probe"],
    ["an embedder", offering({ capabilities: ["embedding"] }), "token"],
    ["a server others use", engine({ isMeasurable: false }), "probe"],
    ["an engine for its own clients", engine({ isPrivate: true }), "probe"],
    ["an engine that is gone", engine({ availability: GONE }), "probe"],
    ["an engine with no model", engine({ offers: [] }), "probe"],
  ];
  for (const [what, one, kind] of table) {
    assert.equal(chooseTest([one], true).kind, kind, what);
    assert.equal(chooseTest([one], false).kind, "probe", `${what}, withheld`);
  }
  assert.equal(chooseTest([], true).kind, "probe");
});

Deno.test("chooseTest takes the first model that is ready, over all engines", () => {
  const cold = offerOf({ model: "cold", state: { kind: "cold" } });
  const warm = offerOf({ model: "warm" });
  const choice = chooseTest([
    engine({ id: "paid", offers: [offerOf({ isPaid: true })] }),
    engine({ id: "second", offers: [cold, warm] }),
  ], true);
  assert(choice.kind === "token");
  assert.deepEqual([choice.engine, choice.offer.model, choice.capability], [
    "second",
    "warm",
    "chat",
  ]);
});

Deno.test("probeEngines fails only a node all of whose lent engines are gone", () => {
  const gone = engine({ id: "gone", availability: GONE });
  const paid = engine({
    availability: GONE,
    offers: [offerOf({ isPaid: true })],
  });
  const hidden = engine({ availability: GONE, isPrivate: true });
  assert.equal(probeEngines([]).passed, true);
  assert.equal(probeEngines([engine()]).passed, true);
  assert.equal(probeEngines([gone, engine()]).passed, true);
  assert.equal(probeEngines([paid, hidden]).passed, true);
  assert.deepEqual(probeEngines([gone, hidden]), {
    passed: false,
    by: "probe",
    reason: "gone: It does not answer",
  });
});

Deno.test("testPauseMs doubles from 5 s to a minute", () => {
  const pauses: number[] = [];
  for (let last = 0, n = 0; n < 6; n++) {
    pauses.push(last = testPauseMs(last));
  }
  assert.deepEqual(pauses, [5000, 10_000, 20_000, 40_000, 60_000, 60_000]);
});

Deno.test("testLimitMs is three times the forecast, within 5 and 15 s", () => {
  assert.deepEqual([0, 2000, 3000, 60_000].map(testLimitMs), [
    5000,
    6000,
    9000,
    15_000,
  ]);
});

function offering(part: Parameters<typeof offerOf>[0]): TestableEngine {
  return engine({ offers: [offerOf(part)] });
}
