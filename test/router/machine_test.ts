import assert from "node:assert/strict";
import {
  type Conditions,
  type Machine,
  type Offer,
  type ServedCallers,
  type SpeedPrior,
  UNKNOWN_MACHINE,
} from "../../src/domain/mod.ts";
import { learnFrom, ratesAt } from "../../src/router/machine_speed.ts";
import { availabilityOn, reportOn } from "../../src/router/machine_standing.ts";
import { ModelRates } from "../../src/router/model_rates.ts";
import { buildAttempt } from "../fakes/attempt_builder.ts";
import { createRouter } from "../../src/router/mod.ts";
import { createSeededEntropy, ManualClock } from "../../src/platform/mod.ts";
import { CountingMetrics } from "../fakes/counting_metrics.ts";
import { QuietLog } from "../fakes/quiet_log.ts";
import {
  answering,
  nodeIdOf,
  offerOf,
  ScriptedEngine,
} from "../fakes/scripted_engine.ts";

const OFFER: Offer = offerOf();

class PlayedSpeed implements SpeedPrior {
  share = 1;
  readonly observed: number[] = [];
  factor(): number {
    return this.share;
  }
  observe(relativeSpeed: number): void {
    this.observed.push(relativeSpeed);
  }
}

function machineOf(
  served: ServedCallers,
  conditions: Conditions = { ok: true, reasons: [] },
): Machine {
  return {
    reading: () => UNKNOWN_MACHINE,
    conditions: () => conditions,
    served: () => served,
  };
}

/** An answer of 100 tokens that took `tpotMs` each. */
function answerAt(tpotMs: number) {
  return {
    work: {
      capability: "chat" as const,
      promptTokens: 100,
      outputTokens: 100,
      cachedTokens: 0,
    },
    concurrency: 1,
    prefillMs: tpotMs,
    uncachedShare: 1,
    decodeMs: tpotMs * 100,
    outputTokens: 100,
    cut: false,
    loadTimeMs: null,
    serviceMs: tpotMs * 101,
  };
}

Deno.test("learnFrom teaches what a slowdown costs and keeps the usual speed", () => {
  const rates = new ModelRates();
  const speed = new PlayedSpeed();
  for (let at = 0; at < 5; at++) learnFrom(rates, answerAt(20), OFFER, speed);
  assert.deepEqual(speed.observed, []);
  speed.share = 0.6;
  for (let at = 0; at < 20; at++) learnFrom(rates, answerAt(50), OFFER, speed);
  assert.equal(speed.observed.length, 20);
  assert.ok(Math.abs((speed.observed[0] ?? 0) - 0.4) < 1e-9);
  assert.ok(Math.abs((rates.over(OFFER.rates).tpotMs[0] ?? 0) - 20) < 1e-9);
  assert.equal(rates.over(OFFER.rates).observations, 25);
});

Deno.test("learnFrom takes the expected slowdown out until the usual speed is known", () => {
  const rates = new ModelRates();
  const speed = new PlayedSpeed();
  speed.share = 0.5;
  learnFrom(rates, answerAt(40), OFFER, speed);
  assert.deepEqual(speed.observed, []);
  assert.ok(Math.abs((rates.over(OFFER.rates).tpotMs[0] ?? 0) - 20) < 1e-9);
});

Deno.test("ratesAt slows prefill and decode alike", () => {
  const slow = ratesAt(OFFER.rates, 0.5);
  assert.equal(
    slow.prefillTokensPerSecond,
    OFFER.rates.prefillTokensPerSecond / 2,
  );
  assert.equal(slow.tpotMs[0], (OFFER.rates.tpotMs[0] ?? 0) * 2);
  assert.equal(slow.loadTimeMs, OFFER.rates.loadTimeMs);
});

Deno.test("availabilityOn degrades by conditions and never takes out", () => {
  const available = { kind: "available" } as const;
  const failing = machineOf({ kind: "everyone" }, {
    ok: false,
    reasons: ["has 3 % left"],
  });
  assert.equal(availabilityOn(undefined, available), available);
  assert.deepEqual(availabilityOn(failing, available), {
    kind: "degraded",
    reason: "This node has 3 % left",
  });
  const nobody = machineOf({ kind: "nobody", reason: "runs on battery" });
  assert.equal(availabilityOn(nobody, available).kind, "unavailable");
  const own = machineOf({ kind: "own_clients", reason: "runs on battery" });
  assert.equal(availabilityOn(own, available), available);
  assert.equal(reportOn(own).withheld, "runs on battery");
});

Deno.test("a router on battery serves its own clients and refuses its peers", async () => {
  const clock = new ManualClock();
  const engine = new ScriptedEngine({
    clock,
    node: nodeIdOf(1),
    offers: [OFFER],
    script: () => answering("yes"),
  });
  const speed = new PlayedSpeed();
  speed.share = 0.5;
  await using router = createRouter({
    self: { id: nodeIdOf(1), name: "node-1" },
    localEngines: [engine],
    peers: () => [],
    policy: "local_first",
    maxQueue: 1,
    clock,
    entropy: createSeededEntropy(7),
    log: new QuietLog(),
    metrics: new CountingMetrics(),
    machine: machineOf({ kind: "own_clients", reason: "runs on battery" }),
    speedOf: () => speed,
  });
  const refused = await router.serve(
    engine.id,
    buildAttempt(OFFER.model),
    new AbortController().signal,
  );
  assert.equal(refused.kind === "refused" && refused.reason, "not_lent");
  const { engines, machine, withheld } = router.report();
  assert.equal(withheld, "runs on battery");
  assert.deepEqual(machine, UNKNOWN_MACHINE);
  assert.equal(
    engines[0]?.offers[0]?.rates.tpotMs[0],
    (OFFER.rates.tpotMs[0] ?? 0) * 2,
  );
});
