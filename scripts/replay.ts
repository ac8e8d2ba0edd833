/**
 * Makes recorded placements again and says where the choice would differ now.
 * Reads decision records as JSON lines (`GET /covey/decisions?limit=1000`, or
 * `covey explain ID --json`), from files or standard input.
 *
 * Run: deno task replay [--json] FILE…
 *
 * @module
 */
import { parseArgs } from "node:util";
import { readRecords, replay, type Replayed } from "./replay/replay.ts";

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}

function describe(one: Replayed): string {
  switch (one.kind) {
    case "same":
      return `${one.id}  same: ${one.chosen}`;
    case "differs":
      return `${one.id}  differs: was ${one.was} (predicted ${
        one.wasMs?.toFixed(0) ?? "?"
      } ms), now ${one.now} (${one.nowMs?.toFixed(0) ?? "?"} ms)`;
    case "unreplayable":
      return `${one.id}  kept no inputs`;
    default: {
      const never: never = one;
      return never;
    }
  }
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    options: { json: { type: "boolean", default: false } },
    allowPositionals: true,
  });
  const texts = positionals.length === 0
    ? [await new Response(Deno.stdin.readable).text()]
    : await Promise.all(positionals.map((file) => Deno.readTextFile(file)));
  const results = texts.flatMap(readRecords).map(replay);
  const count = (kind: Replayed["kind"]) =>
    results.filter((one) => one.kind === kind).length;
  if (!values.json) {
    for (const one of results) {
      if (one.kind !== "same") print(describe(one));
    }
  }
  print(JSON.stringify({
    replay: results.length,
    same: count("same"),
    differs: count("differs"),
    unreplayable: count("unreplayable"),
    ...(values.json ? { results } : {}),
  }));
  if (count("differs") > 0) Deno.exitCode = 1;
}
