/**
 * The laboratory: plays scenarios in virtual time with the router's own decider
 * and with the rules of others, on the same requests, and prints what came of it.
 *
 * Run: deno task simulate [--scenario a,b] [--policy a,b] [--jobs N] [--seeds N] [--json FILE]
 *
 * @module
 */
import { parseArgs } from "node:util";
import type { RoutingRule } from "./policies/policy.ts";
import { RULES } from "./policies/rules.ts";
import { defeatsOf, figuresOf } from "./figures.ts";
import type { Scenario } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";
import { type RunRecord, simulate } from "./simulation.ts";
import { summarise, type Summary } from "./summary.ts";

/** A thousand nodes are slow enough with the rules that matter there. */
const LARGE = 100;
const FOR_LARGE = new Set([
  "covey",
  "round_robin",
  "least_connections",
  "smg_least_load",
]);

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}

/** Names from an option, or an error that says which there are. */
function picked<T extends { readonly name: string }>(
  option: string,
  all: readonly T[],
  said: string | undefined,
): readonly T[] {
  if (said === undefined) return all;
  return said.split(",").map((name) => {
    const found = all.find((one) => one.name === name);
    if (found !== undefined) return found;
    throw new RangeError(
      `--${option} knows no "${name}"; it knows ${
        all.map((one) => one.name).join(", ")
      }`,
    );
  });
}

/** Play one scenario with all rules. */
async function playScenario(
  scenario: Scenario,
  rules: readonly RoutingRule[],
  seeds: number,
): Promise<Summary[]> {
  const summaries: Summary[] = [];
  for (const rule of rules) {
    const runs: RunRecord[] = [];
    for (let seed = 1; seed <= seeds; seed++) {
      runs.push(await simulate(scenario, rule, seed));
    }
    summaries.push(summarise(rule.name, scenario, runs));
  }
  return summaries;
}

function table(
  scenario: Scenario,
  summaries: readonly Summary[],
): string[] {
  const head = [
    "rule".padEnd(18),
    ...[
      "mean",
      "P50",
      "P95",
      "P99",
      "TTFT",
      "cap%",
      "util%",
      "moved%",
      "fail",
      "loads",
    ]
      .map((name) => name.padStart(8)),
    "  share of nodes",
  ].join("");
  const rows = summaries.map((one) => {
    const shares = Object.values(one.shares);
    return [
      one.rule.padEnd(18),
      ...[
        one.meanS.toFixed(2),
        one.p50S.toFixed(2),
        one.p95S.toFixed(2),
        one.p99S.toFixed(2),
        one.ttftP50S.toFixed(2),
        (100 * one.capacityShare).toFixed(1),
        (100 * one.utilisation).toFixed(1),
        (100 * one.movedShare).toFixed(1),
        String(one.failures),
        String(one.loads),
      ].map((cell) => cell.padStart(8)),
      "  ",
      shares.length > 8
        ? ""
        : shares.map((share) => (100 * share).toFixed(0)).join(" : "),
      one.lost > 0 ? "  diverges" : "",
    ].join("");
  });
  const notes = summaries.flatMap((one) =>
    [
      one.kept === null
        ? []
        : `${one.rule}: ${(100 * one.kept).toFixed(0)} % of turns stay`,
      one.throttledShares === null
        ? []
        : `${one.rule}: share of the throttled node per 10 s: ${
          one.throttledShares.map((share) => (100 * share).toFixed(0)).join(" ")
        }`,
      one.totalError === null || one.ttftError === null
        ? []
        : `${one.rule}: prediction error TTFT ${
          (100 * one.ttftError).toFixed(1)
        } %, total re-priced ${(100 * one.totalError).toFixed(1)} %`,
      one.p80Held === null
        ? []
        : `${one.rule}: ${
          (100 * one.p80Held).toFixed(1)
        } % of answers within the published P80`,
    ].flat()
  );
  return [head, ...rows, ...notes, ...verdict(scenario, summaries)];
}

/** What the scenario is there to show, and where another rule did better. */
function verdict(
  { concedes, name }: Scenario,
  summaries: readonly Summary[],
): readonly string[] {
  const figures = figuresOf(name, summaries).map((
    { isReached, measured, reach, what },
  ) =>
    `figure: ${what}: reach ${reach}, measured ${measured.toFixed(3)}${
      isReached ? "" : "  NOT REACHED"
    }`
  );
  const defeats = defeatsOf(summaries).map((one) =>
    `${one}: ${concedes ?? "not explained"}`
  );
  return [...figures, ...defeats];
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      scenario: { type: "string" },
      policy: { type: "string" },
      jobs: { type: "string" },
      seeds: { type: "string", default: "1" },
      json: { type: "string" },
    },
  });
  const scenarios = picked("scenario", SCENARIOS, values.scenario);
  const rules = picked("policy", RULES, values.policy);
  const results = [];
  for (const usual of scenarios) {
    const scenario = values.jobs === undefined
      ? usual
      : { ...usual, jobs: Number(values.jobs) };
    const chosen = scenario.nodes.length > LARGE && values.policy === undefined
      ? rules.filter(({ name }) => FOR_LARGE.has(name))
      : rules;
    const startedMs = performance.now();
    const summaries = await playScenario(
      scenario,
      chosen,
      Number(values.seeds),
    );
    const tookMs = performance.now() - startedMs;
    print(
      `\n${scenario.name}: ${scenario.about} (${(tookMs / 1000).toFixed(1)} s)`,
    );
    for (const line of table(scenario, summaries)) print(line);
    results.push({
      scenario: scenario.name,
      summaries,
      figures: figuresOf(scenario.name, summaries),
    });
  }
  if (values.json !== undefined) {
    await Deno.writeTextFile(values.json, JSON.stringify(results, null, 2));
  }
}
