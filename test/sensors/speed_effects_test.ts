import assert from "node:assert/strict";
import fc from "fast-check";
import { UNKNOWN_MACHINE } from "../../src/domain/mod.ts";
import { createSeededEntropy } from "../../src/platform/mod.ts";
import {
  SPEED_CONDITIONS,
  SPEED_PRIORS,
  type SpeedCondition,
  speedConditions,
} from "../../src/sensors/speed_conditions.ts";
import { SpeedEffects } from "../../src/sensors/speed_effects.ts";

const NONE: ReadonlySet<SpeedCondition> = new Set();
const THROTTLED: ReadonlySet<SpeedCondition> = new Set(["throttled"]);

Deno.test("SpeedEffects begins with the priors' product", () => {
  const effects = new SpeedEffects();
  assert.equal(effects.factor(NONE), 1);
  const both = new Set<SpeedCondition>(["throttled", "on_battery"]);
  const product = SPEED_PRIORS.throttled * SPEED_PRIORS.on_battery;
  assert.ok(Math.abs(effects.factor(both) - product) < 1e-12);
});

Deno.test("SpeedEffects weighs one observation against the prior", () => {
  const effects = new SpeedEffects();
  effects.observe(0.5, THROTTLED);
  const { observations, share } = effects.effect("throttled");
  assert.equal(observations, 1);
  const expected = Math.exp((5 * Math.log(0.6) + Math.log(0.5)) / 6);
  assert.ok(Math.abs(share - expected) < 1e-12);
});

Deno.test("SpeedEffects follows three that agree at once", () => {
  const effects = new SpeedEffects();
  for (const seen of [0.31, 0.3, 0.32]) effects.observe(seen, THROTTLED);
  assert.ok(Math.abs(effects.factor(THROTTLED) - 0.31) < 0.03);
});

Deno.test("SpeedEffects converges under 20 % noise, whatever the effect", () => {
  fc.assert(fc.property(
    fc.double({ min: 0.1, max: 1, noNaN: true }),
    fc.integer(),
    (truth, seed) => {
      const entropy = createSeededEntropy(seed);
      const effects = new SpeedEffects();
      for (let at = 0; at < 100; at++) {
        const noise = 1 + 0.2 * (2 * entropy.float() - 1);
        effects.observe(truth * noise, THROTTLED);
      }
      const learned = effects.factor(THROTTLED);
      assert.ok(Math.abs(learned / truth - 1) < 0.15, `${learned} ${truth}`);
      assert.ok(learned <= 1);
    },
  ));
});

Deno.test("SpeedEffects takes no sense from senseless observations", () => {
  const effects = new SpeedEffects();
  for (const seen of [0, -1, NaN, Infinity]) effects.observe(seen, THROTTLED);
  assert.equal(effects.effect("throttled").observations, 0);
  effects.observe(0.5, NONE);
  assert.equal(effects.factor(NONE), 1);
});

Deno.test("HW-01 speedConditions holds nothing of an unknown machine", () => {
  assert.equal(speedConditions(UNKNOWN_MACHINE, NONE).size, 0);
  const all = new Set(SPEED_CONDITIONS);
  assert.equal(speedConditions(UNKNOWN_MACHINE, all).size, 0);
});

Deno.test("speedConditions lets graded ones end later than they began", () => {
  const machine = (busyThreads: number) => ({
    ...UNKNOWN_MACHINE,
    cpuCount: 2,
    busyThreads,
    ownBusyThreads: 0,
  });
  assert.equal(speedConditions(machine(0.8), NONE).size, 0);
  const on = speedConditions(machine(1.1), NONE);
  assert.deepEqual([...on], ["cpu_contended"]);
  assert.deepEqual([...speedConditions(machine(0.8), on)], ["cpu_contended"]);
  assert.equal(speedConditions(machine(0.6), on).size, 0);
});

Deno.test("speedConditions calls a card contended only for others' work", () => {
  const machine = {
    ...UNKNOWN_MACHINE,
    gpuBusyShare: 0.9,
    ownBusyThreads: 1,
  };
  assert.equal(speedConditions(machine, NONE).size, 0);
  const idle = { ...machine, ownBusyThreads: 0 };
  assert.deepEqual([...speedConditions(idle, NONE)], ["gpu_contended"]);
  const named = { ...machine, foreignGpuProcesses: 1 };
  assert.deepEqual([...speedConditions(named, NONE)], ["gpu_contended"]);
});
