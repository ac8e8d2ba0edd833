import assert from "node:assert/strict";
import { LEAST_CONNECTIONS } from "../../scripts/simulate/policies/peers.ts";
import {
  FIXED,
  HEAVY,
  meanJobMs,
  node,
  type Scenario,
  scenario,
} from "../../scripts/simulate/scenario.ts";
import { simulate } from "../../scripts/simulate/simulation.ts";

const JOBS = 10_000;
const SEEDS = [1, 2, 3, 4];

/** Mean time in the system over mean service time, of one node. */
async function meanSojourn(
  lengths: Scenario["lengths"],
  load: number,
  slots: number,
): Promise<number> {
  const world = scenario("theory", "", [
    node("only", 1, { slots, isEntry: true }),
  ], {
    arrivals: { kind: "open", load },
    lengths,
    noise: 0,
    priorError: 0,
    jobs: JOBS,
    pollMs: 1e9,
  });
  let sum = 0;
  for (const seed of SEEDS) {
    const { jobs } = await simulate(world, LEAST_CONNECTIONS, seed);
    for (const { doneAtMs, arrivedAtMs } of jobs) sum += doneAtMs - arrivedAtMs;
  }
  return sum / SEEDS.length / JOBS / meanJobMs(lengths);
}

function within(actual: number, expected: number, share: number): void {
  assert(
    Math.abs(actual / expected - 1) <= share,
    `${actual.toFixed(3)} is not within ${share * 100} % of ${expected}`,
  );
}

Deno.test("simulate agrees with M/D/1 at loads 0.5 and 0.8", async () => {
  within(await meanSojourn(FIXED, 0.5, 1), 1.5, 0.02);
  within(await meanSojourn(FIXED, 0.8, 1), 3, 0.04);
});

Deno.test("simulate agrees with Pollaczek and Khinchine for heavy-tailed lengths", async () => {
  const lengths = { ...HEAVY, promptTokens: 0 } as Scenario["lengths"];
  const variation = Math.exp(1.1 ** 2) - 1;
  within(
    await meanSojourn(lengths, 0.5, 1),
    1 + 0.5 / (1 - 0.5) * (1 + variation) / 2,
    0.05,
  );
});

Deno.test("simulate agrees with M/D/2 at load 0.8", async () => {
  // The wait of M/M/2 halved, with Cosmetatos' correction.
  within(await meanSojourn(FIXED, 0.8, 2), 1.917, 0.03);
});
