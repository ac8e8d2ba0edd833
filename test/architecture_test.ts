import assert from "node:assert/strict";
import { findViolations, type House } from "./architecture/check.ts";
import { listImports } from "./architecture/imports.ts";

const ROOT = new URL("../", import.meta.url);
const FOLDERS = ["src", "ee", "scripts", "compile", "test"];

async function readHouse(): Promise<House> {
  const files = new Map<string, string>();
  async function collect(folder: string): Promise<void> {
    for await (const entry of Deno.readDir(new URL(`${folder}/`, ROOT))) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory && entry.name !== "node_modules") {
        await collect(path);
      } else if (entry.isFile && /\.tsx?$/.test(entry.name)) {
        files.set(path, await Deno.readTextFile(new URL(path, ROOT)));
      }
    }
  }
  files.set("mod.ts", await Deno.readTextFile(new URL("mod.ts", ROOT)));
  for (const folder of FOLDERS) {
    // The core is whole without ee/, and this test with it.
    if (await exists(folder)) await collect(folder);
  }
  const packages = new Map<string, string>();
  for (const folder of ["", "ee/"]) {
    if (!await exists(`${folder}deno.json`)) continue;
    const { name, exports } = JSON.parse(
      await Deno.readTextFile(new URL(`${folder}deno.json`, ROOT)),
    );
    for (const [key, target] of Object.entries(exports)) {
      packages.set(
        `${name}${key.slice(1)}`,
        `${folder}${String(target).replace(/^\.\//, "")}`,
      );
    }
  }
  return { files, packages };
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(new URL(path, ROOT));
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

Deno.test("the house keeps its arrows, names and sizes", async () => {
  const house = await readHouse();
  assert(house.files.size > 50, "the files were not found");
  const violations = findViolations(house);
  assert.equal(violations.length, 0, `\n${violations.join("\n")}`);
});

const PACKAGES = new Map([
  ["@covey/core", "mod.ts"],
  ["@covey/core/main", "src/main.ts"],
  ["@covey/core/domain", "src/domain/mod.ts"],
  ["@covey/core/platform", "src/platform/mod.ts"],
  ["@covey/ee", "ee/mod.ts"],
]);

function violationsOf(files: Readonly<Record<string, string>>): string[] {
  return findViolations({
    files: new Map(Object.entries(files)),
    packages: PACKAGES,
  });
}

Deno.test("findViolations accepts the arrows that design allows", () => {
  assert.deepEqual(
    violationsOf({
      "src/domain/mod.ts": 'export { a } from "./a.ts";',
      "src/domain/a.ts": "export const a = 1;",
      "src/platform/mod.ts":
        'import { a } from "../domain/mod.ts"; export { a };',
      "src/router/place.ts":
        'import { a } from "../platform/mod.ts"; import "node:path"; import { z } from "zod"; export { a, z };',
      "src/api/chat.ts":
        'import type { P } from "../router/place.ts"; export { type Q } from "../store/row.ts"; export type R = import("../models/m.ts").M | P;',
      "src/node.ts": 'import "./router/place.ts"; import "./api/chat.ts";',
      "src/main.ts": 'import "./node.ts"; await import("./cli/mod.ts");',
      "mod.ts": 'export { createNode } from "./src/node.ts";',
      "ee/src/link/a.ts": 'import "@covey/core/domain"; import "./b.ts";',
      "ee/main.ts": 'import "@covey/core/main"; import "./src/link/a.ts";',
      "ee/test/link/a_test.ts":
        'import "../../src/link/a.ts"; import "../../../test/fakes/f.ts";',
      "test/router/place_test.ts":
        'import "../../src/router/place.ts"; import "../../scripts/lab/chat.ts";',
      "scripts/demo.ts": 'import "../src/main.ts"; import "../ee/main.ts";',
    }),
    [],
  );
});

Deno.test("findViolations names each forbidden arrow and why", async (t) => {
  const table: [string, string, RegExp][] = [
    [
      "src/domain/a.ts",
      'import "../platform/mod.ts";',
      /domain\).*nothing of ours: the words are pure/,
    ],
    [
      "src/platform/a.ts",
      'import "../router/p.ts";',
      /only domain: ports and adapters/,
    ],
    [
      "src/router/a.ts",
      'import "../engines/e.ts";',
      /only domain, platform: rooms are siblings/,
    ],
    [
      "src/router/a.ts",
      'import type { E } from "../engines/e.ts";',
      /siblings/,
    ],
    [
      "src/router/a.ts",
      'const e = await import("../engines/e.ts");',
      /siblings/,
    ],
    ["src/router/a.ts", 'type E = import("../engines/e.ts").E;', /siblings/],
    ["src/router/a.ts", 'export { e } from "../engines/e.ts";', /siblings/],
    ["src/router/a.ts", 'export * from "../engines/e.ts";', /siblings/],
    ["src/router/a.ts", 'import "../api/chat.ts";', /siblings/],
    [
      "src/api/a.ts",
      'import { p } from "../router/p.ts";',
      /values of src\/router\/p\.ts/,
    ],
    [
      "src/api/a.ts",
      'import { p, type Q } from "../router/p.ts";',
      /values of/,
    ],
    ["src/api/a.ts", 'import "../router/p.ts";', /values of/],
    ["src/api/a.ts", 'import type { C } from "../cli/mod.ts";', /stands above/],
    ["src/node.ts", 'import "./main.ts";', /core edge/],
    ["src/router/a.ts", 'import "../main.ts";', /core edge/],
    ["test/a_test.ts", 'import "../src/main.ts";', /core edge/],
    ["test/a_test.ts", 'import "../ee/src/link/a.ts";', /with ee\/ moved away/],
    ["src/router/a.ts", 'import "../../ee/src/link/a.ts";', /\(ee\)/],
    ["src/main.ts", 'import "@covey/ee";', /\(ee edge\)/],
    ["src/main.ts", 'import "../scripts/demo.ts";', /\(chores\)/],
    ["src/main.ts", 'import "../test/fakes/f.ts";', /\(fakes\)/],
    [
      "ee/src/a.ts",
      'import "../../src/domain/mod.ts";',
      /by a path: ee\/ imports the core as/,
    ],
    ["ee/src/a.ts", 'import "@covey/core/main";', /\(core edge\)/],
    [
      "ee/src/a.ts",
      'import "@covey/core/router";',
      /which its package does not export/,
    ],
    ["ee/main.ts", 'import "../src/node.ts";', /by a path/],
    ["src/node.ts", 'import "@covey/core/domain";', /its own package by name/],
    [
      "src/router/a.ts",
      'const n = "./b.ts"; await import(n);',
      /computes what it imports/,
    ],
    ["src/extra/a.ts", "", /lies in no room/],
    ["src/router/utils.ts", "", /is called "utils"/],
    ["test/router/string_helpers_test.ts", "", /is called "helpers"/],
    ["src/router/long.ts", "x;\n".repeat(501), /has 501 lines/],
    [
      "src/router/long.ts",
      "x;\n/* Long because: no */" + "x;\n".repeat(501),
      /lines/,
    ],
  ];
  for (const [path, source, reason] of table) {
    await t.step(`${path}: ${source.slice(0, 60).trim()}`, () => {
      const found = violationsOf({ [path]: source });
      assert(
        found.some((line) => reason.test(line)),
        found.join("\n") || "none",
      );
      assert(found.every((line) => line.includes(path)));
    });
  }
});

Deno.test("findViolations lets a long file say why", () => {
  const body = "x;\n".repeat(600);
  for (
    const head of [
      "// Long because: one table.\n",
      "/**\n * Rows.\n *\n * Long because: one table.\n */\n",
    ]
  ) assert.deepEqual(violationsOf({ "src/config/long.ts": head + body }), []);
});

Deno.test("findViolations finds circles of any length, also of types", () => {
  const files = {
    "src/router/a.ts": 'import "./b.ts";',
    "src/router/b.ts": 'import type { C } from "./c.ts";',
    "src/router/c.ts": 'import "./a.ts"; import "./d.ts";',
    "src/router/d.ts": 'import "./e.ts";',
    "src/router/e.ts": 'await import("./e.ts");',
    "src/router/f.ts": 'import "./a.ts"; import "./d.ts";',
  };
  assert.deepEqual(
    violationsOf(files).map((line) => line.split(" import each")[0]).sort(),
    [
      "src/router/a.ts, src/router/b.ts, src/router/c.ts",
      "src/router/e.ts",
    ],
  );
});

Deno.test("listImports is not misled by comments and strings", () => {
  const source = `
    // import "./comment.ts";
    const text = 'import "./string.ts"';
    /* export * from "./block.ts" */
    import def, { type T } from "./a.ts";
    import { type U } from "./b.ts";
    export const x = \`\${await import("./c.ts")}\`;
  `;
  assert.deepEqual(listImports("src/x.ts", source), [
    { specifier: "./a.ts", typeOnly: false },
    { specifier: "./b.ts", typeOnly: true },
    { specifier: "./c.ts", typeOnly: false },
  ]);
});
