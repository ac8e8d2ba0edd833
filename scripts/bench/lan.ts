/**
 * How fast a cluster forms, heals and excludes on a test LAN of network
 * namespaces, in real processes. Needs root and iproute2.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { PROMISED, runScenario } from "../lab/lan/scenario.ts";

const { values } = parseArgs({
  options: {
    hosts: { type: "string", default: "3" },
    rounds: { type: "string", default: "1" },
  },
});
const hosts = Number(values.hosts);
const patient = {
  formedMs: 30_000,
  movedMs: 30_000,
  excludedMs: 30_000,
  backMs: 30_000,
  refusedMs: 30_000,
};

const rows: Record<string, Record<string, number>> = {
  promised: { ...PROMISED },
};
for (let round = 1; round <= Number(values.rounds); round++) {
  const took = await runScenario(hosts, patient);
  rows[`round ${round}`] = Object.fromEntries(
    Object.entries(took).map(([what, ms]) => [what, Math.round(ms)]),
  );
}
// deno-lint-ignore no-console
console.table(rows);
// deno-lint-ignore no-console
console.log(JSON.stringify({ hosts, rows }));
