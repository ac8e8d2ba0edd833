import assert from "node:assert/strict";
import plugin from "../../scripts/lint/covey_lint.ts";

function lint(path: string, source: string): string[] {
  return Deno.lint.runPlugin(plugin, path, source)
    .map(({ id, message }) => `${id}: ${message}`);
}

Deno.test("no-ambient-world finds time, chance, timers and environment", () => {
  for (
    const source of [
      "const at = Date.now();",
      'const at = Date["now"]();',
      "const at = globalThis.Date.now();",
      "const at = new Date();",
      "const at = Date();",
      "const at = performance.now();",
      "const luck = Math.random();",
      "const { random } = Math;",
      "const { env } = Deno;",
      'const home = Deno.env.get("HOME");',
      "const id = crypto.randomUUID();",
      "const id = globalThis.crypto.randomUUID();",
      "crypto.getRandomValues(new Uint8Array(1));",
      "setTimeout(() => {}, 1);",
      "globalThis.setInterval(() => {}, 1);",
      "start(setTimeout);",
      "start({ later: setTimeout });",
      "start({ setTimeout });",
      "const signal = AbortSignal.timeout(1);",
      'import { setTimeout } from "node:timers/promises"; void setTimeout;',
      'import { randomBytes } from "node:crypto"; void randomBytes;',
      'import { env } from "node:process"; void env;',
    ]
  ) {
    for (const path of ["src/router/a.ts", "ee/src/link/a.ts", "src/node.ts"]) {
      const found = lint(path, source);
      assert(found.length >= 1, `nothing found in ${source}`);
      assert(
        found.every((line) => line.startsWith("covey/no-ambient-world: ")),
      );
    }
  }
});

Deno.test("no-ambient-world leaves alone what only looks like it", () => {
  for (
    const source of [
      "const at = clock.now();",
      "const text = new Date(ms).toISOString();",
      "const at = Date.parse(text);",
      "const left = Math.min(1, 2);",
      "clock.setTimeout(1);",
      "type Later = typeof setTimeout;",
      "interface Timers { setTimeout(): void }",
      'const text = "Date.now()";',
      "// Math.random()",
      'import { createHash } from "node:crypto"; void createHash;',
      'import type { Timeout } from "node:timers";',
      "const key = crypto.subtle.digest;",
      "const cwd = Deno.cwd();",
    ]
  ) assert.deepEqual(lint("src/router/a.ts", source), [], source);
});

Deno.test("no-ambient-world ends at the edges and at what is not shipped", () => {
  const source = "const at = Date.now();";
  for (
    const path of [
      "src/platform/system_clock.ts",
      "src/main.ts",
      "ee/main.ts",
      "src/engines/embedded/host/serve.ts",
      "test/router/a_test.ts",
      "ee/test/link/a_test.ts",
      "scripts/demo.ts",
    ]
  ) assert.deepEqual(lint(path, source), [], path);
  const root = decodeURIComponent(new URL("../../", import.meta.url).pathname);
  assert.deepEqual(lint(`${root}src/platform/a.ts`, source), []);
  assert.equal(lint(`${root}src/router/a.ts`, source).length, 1);
});

Deno.test("no-module-state finds let and var outside functions alone", () => {
  for (const source of ["let a = 1;", "export let a = 1;", "var a = 1;"]) {
    assert.deepEqual(lint("src/router/a.ts", source), [
      "covey/no-module-state: A module keeps no state",
    ]);
    assert.deepEqual(lint("scripts/a.ts", source), []);
  }
  for (
    const source of ["const a = 1;", "function f() { let a = 1; return a; }"]
  ) {
    assert.deepEqual(lint("src/router/a.ts", source), []);
  }
});

Deno.test("no-export-all wants names", () => {
  assert.equal(lint("src/router/mod.ts", 'export * from "./a.ts";').length, 1);
  assert.deepEqual(
    lint("src/router/mod.ts", 'export { a } from "./a.ts";'),
    [],
  );
});
