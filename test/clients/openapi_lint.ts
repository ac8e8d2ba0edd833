/**
 * What a real node shows at /openapi.json, held against the rules of a linter.
 * Prints what it found, and ends with 1 where that is an error.
 *
 * @module
 */
import { join } from "node:path";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { startNode } from "../../scripts/lab/node_process.ts";

function say(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}

const folder = await Deno.makeTempDir({ prefix: "covey-openapi-" });
try {
  await using node = await startNode({
    name: "described",
    dataDir: join(folder, "data"),
    env: { COVEY_PORT: "0", COVEY_MODELS_DIR: join(folder, "models") },
  });
  const response = await fetch(`${node.url}/openapi.json`);
  const problems = await lintFromString({
    source: await response.text(),
    absoluteRef: "openapi.json",
    config: await createConfig({ extends: ["recommended"] }),
  });
  for (const { message, ruleId, severity, location } of problems) {
    say(`${severity} ${ruleId} at ${location[0]?.pointer ?? ""}: ${message}`);
  }
  const errors = problems.filter(({ severity }) => severity === "error");
  say(
    `/openapi.json: ${errors.length} errors, ${
      problems.length - errors.length
    } warnings`,
  );
  Deno.exitCode = errors.length === 0 ? 0 : 1;
} finally {
  await Deno.remove(folder, { recursive: true });
}
