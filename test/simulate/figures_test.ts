import assert from "node:assert/strict";
import { COVEY } from "../../scripts/simulate/policies/covey.ts";
import {
  HERD_SCORE,
  LEAST_CONNECTIONS,
  SMG_LEAST_LOAD,
} from "../../scripts/simulate/policies/peers.ts";
import type { RoutingRule } from "../../scripts/simulate/policies/policy.ts";
import { SCENARIOS } from "../../scripts/simulate/scenarios.ts";
import { simulate } from "../../scripts/simulate/simulation.ts";
import { summarise, type Summary } from "../../scripts/simulate/summary.ts";

async function play(
  name: string,
  rule: RoutingRule,
  jobs: number,
): Promise<Summary> {
  const usual = SCENARIOS.find((one) => one.name === name);
  assert(usual !== undefined, `no scenario "${name}"`);
  const scenario = { ...usual, jobs };
  return summarise(rule.name, scenario, [await simulate(scenario, rule, 1)]);
}

Deno.test("place fills a mixed trio at 24 clients without the tail of counting connections", async () => {
  const covey = await play("trio_24", COVEY, 600);
  const counting = await play("trio_24", LEAST_CONNECTIONS, 600);
  const draining = await play("trio_24", SMG_LEAST_LOAD, 600);
  assert(covey.capacityShare >= 0.97, `${covey.capacityShare} of capacity`);
  assert(covey.p95S <= 0.7 * counting.p95S);
  assert(covey.p95S <= 1.05 * draining.p95S);
});

Deno.test("place keeps both of two machines at work for two callers: whoever ends goes to the one that is free", async () => {
  for (const name of ["pair_closed", "seed_pair_loop"]) {
    const usual = SCENARIOS.find((one) => one.name === name);
    assert(usual !== undefined);
    const scenario = {
      ...usual,
      jobs: 400,
      arrivals: { kind: "closed", clients: 2 } as const,
    };
    const run = await simulate(scenario, COVEY, 1);
    const { capacityShare } = summarise(COVEY.name, scenario, [run]);
    assert(capacityShare >= 0.97, `${name}: ${capacityShare}`);
  }
});

Deno.test("place does not thrash between two models with room for one on each node", async () => {
  const covey = await play("evictions", COVEY, 1200);
  const staying = await play("evictions", HERD_SCORE, 1200);
  assert.equal(covey.lost, 0);
  assert(covey.meanS <= 1.5 * staying.meanS, `${covey.meanS} s on average`);
});

Deno.test("place swaps two models rarely enough at load 0.8, where a queue tempts it to", async () => {
  const usual = SCENARIOS.find((one) => one.name === "evictions");
  assert(usual !== undefined);
  const scenario = {
    ...usual,
    jobs: 1000,
    arrivals: { kind: "open", load: 0.8 } as const,
  };
  const run = await simulate(scenario, COVEY, 1);
  const { loads, meanS } = summarise(COVEY.name, scenario, [run]);
  assert(loads <= 15, `${loads} loads`);
  assert(meanS <= 20, `${meanS} s on average`);
});

Deno.test("place predicts within 10 % at 10 % noise where nobody waits", async () => {
  const { ttftError, totalError } = await play("cold", COVEY, 400);
  assert(ttftError !== null && totalError !== null);
  assert(ttftError <= 0.1 && totalError <= 0.1, `${ttftError}, ${totalError}`);
});

Deno.test("place publishes an 80th percentile that holds for 75 to 85 % of answers of unknown length", async () => {
  const usual = SCENARIOS.find((one) => one.name === "heavy_unknown");
  assert(usual !== undefined);
  for (const [load, seed] of [[0.2, 1], [0.5, 2], [0.8, 3]] as const) {
    const scenario = {
      ...usual,
      jobs: 1200,
      arrivals: { kind: "open", load } as const,
    };
    const run = await simulate(scenario, COVEY, seed);
    const { p80Held } = summarise(COVEY.name, scenario, [run]);
    assert(
      p80Held !== null && p80Held >= 0.75 && p80Held <= 0.85,
      `${p80Held} at load ${load}`,
    );
  }
});

Deno.test("place takes a throttled node's work away within 10 s and gives it back", async () => {
  const { throttledShares } = await play("throttle", COVEY, 4000);
  assert(throttledShares !== null);
  const mean = (from: number, until: number) =>
    throttledShares.slice(from, until).reduce((sum, one) => sum + one, 0) /
    (until - from);
  const usual = mean(2, 10);
  assert(mean(11, 20) < 0.7 * usual, "it kept its work");
  assert(mean(11, 13) < 0.8 * usual, "it was slow to lose it");
  assert(mean(25, 30) > 0.85 * usual, "it did not get it back");
});

Deno.test("conversations of ten turns keep their node at nine turns of ten where all are idle as a rule (RTE-04)", async () => {
  const covey = await play("conversations_idle", COVEY, 400);
  assert(covey.kept !== null && covey.kept >= 0.9, `${covey.kept} stay`);
  const counting = await play("conversations_idle", LEAST_CONNECTIONS, 400);
  assert(covey.ttftP50S < 0.7 * counting.ttftP50S);
});

Deno.test("place sends a node that fails at once far less than counting does", async () => {
  const covey = await play("fast_failing", COVEY, 800);
  const counting = await play("fast_failing", LEAST_CONNECTIONS, 800);
  assert(covey.failures < counting.failures / 3);
  assert(covey.meanS < counting.meanS);
});
