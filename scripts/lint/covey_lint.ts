/**
 * House rules that Deno's own linter does not know, over src/ and ee/src/.
 * Named in deno.json under `lint.plugins`.
 *
 * @module
 */

/** Where the ambient world may be touched: the process edge and the adapters. */
const EDGES = [
  "src/platform/",
  "src/main.ts",
  "ee/main.ts",
  "src/engines/embedded/host/",
];

/** Members that read the world, by object. */
const AMBIENT_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  Date: ["now"],
  Math: ["random"],
  performance: ["now", "timeOrigin"],
  AbortSignal: ["timeout"],
  Deno: ["env"],
  crypto: ["getRandomValues", "randomUUID"],
  Temporal: ["Now"],
};

/** Globals that start a timer. */
const AMBIENT_CALLS = ["setTimeout", "setInterval", "setImmediate"];

/** Modules that hand out the same under another name. */
const AMBIENT_MODULES = [
  "node:timers",
  "node:timers/promises",
  "timers",
  "timers/promises",
];

/** Names of modules that hand out chance among much else. */
const CHANCE_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  "node:crypto": ["randomBytes", "randomUUID", "randomInt", "randomFillSync"],
  "node:process": ["env", "hrtime"],
  "node:perf_hooks": ["performance"],
};

const ADVICE =
  "Take the clock, entropy or environment as an argument (src/platform), so that tests decide what it says";

const noAmbientWorld: Deno.lint.Rule = {
  create(context) {
    const path = pathInHouse(context.filename);
    if (!isShipped(path) || EDGES.some((edge) => path.startsWith(edge))) {
      return {};
    }
    const report = (node: Deno.lint.Node, what: string) =>
      context.report({
        node,
        message: `${what} reaches for the ambient world`,
        hint: ADVICE,
      });
    return {
      MemberExpression(node) {
        const object = nameOf(node.object);
        const member = memberOf(node);
        if (object === undefined || member === undefined) return;
        if (AMBIENT_MEMBERS[object]?.includes(member)) {
          report(node, `${object}.${member}`);
        } else if (
          object === "globalThis" && AMBIENT_CALLS.includes(member)
        ) report(node, member);
      },
      VariableDeclarator(node) {
        const object = node.init === null ? undefined : nameOf(node.init);
        if (object === undefined || node.id.type !== "ObjectPattern") return;
        for (const property of node.id.properties) {
          if (property.type !== "Property") continue;
          const member = property.key.type === "Identifier"
            ? property.key.name
            : undefined;
          if (member && AMBIENT_MEMBERS[object]?.includes(member)) {
            report(property, `${object}.${member}`);
          }
        }
      },
      NewExpression(node) {
        if (nameOf(node.callee) === "Date" && node.arguments.length === 0) {
          report(node, "new Date()");
        }
      },
      CallExpression(node) {
        const name = nameOf(node.callee);
        if (name === "Date") report(node, "Date()");
        if (name !== undefined && AMBIENT_CALLS.includes(name)) {
          report(node, `${name}()`);
        }
        for (const argument of node.arguments) {
          const passed = nameOf(argument);
          if (passed !== undefined && AMBIENT_CALLS.includes(passed)) {
            report(argument, passed);
          }
        }
      },
      Property(node) {
        const value = nameOf(node.value);
        // A shorthand in a pattern only names what is taken apart there.
        if (node.parent.type === "ObjectPattern") return;
        if (value !== undefined && AMBIENT_CALLS.includes(value)) {
          report(node, value);
        }
      },
      ImportDeclaration(node) {
        if (node.importKind === "type") return;
        const from = node.source.value;
        if (AMBIENT_MODULES.includes(from)) report(node, from);
        for (const one of node.specifiers) {
          if (one.type !== "ImportSpecifier" || one.importKind === "type") {
            continue;
          }
          const name = one.imported.type === "Identifier"
            ? one.imported.name
            : one.imported.value;
          if (CHANCE_IMPORTS[from]?.includes(String(name))) {
            report(one, `${name} of ${from}`);
          }
        }
      },
    };
  },
};

const noModuleState: Deno.lint.Rule = {
  create(context) {
    if (!isShipped(pathInHouse(context.filename))) return {};
    return {
      Program(node) {
        for (const statement of node.body) {
          const declared = statement.type === "ExportNamedDeclaration"
            ? statement.declaration
            : statement;
          if (declared?.type !== "VariableDeclaration") continue;
          if (declared.kind !== "let" && declared.kind !== "var") continue;
          context.report({
            node: declared,
            message: "A module keeps no state",
            hint: "Let one owner hold it in a closure or a private field",
          });
        }
      },
    };
  },
};

const noExportAll: Deno.lint.Rule = {
  create(context) {
    if (!isShipped(pathInHouse(context.filename))) return {};
    return {
      ExportAllDeclaration(node) {
        context.report({
          node,
          message: "A module names what it exports",
          hint: "List the names, so that a reader sees the surface",
        });
      },
    };
  },
};

/** The house rules. */
const plugin: Deno.lint.Plugin = {
  name: "covey",
  rules: {
    "no-ambient-world": noAmbientWorld,
    "no-module-state": noModuleState,
    "no-export-all": noExportAll,
  },
};
export default plugin;

function pathInHouse(filename: string): string {
  const path = filename.replaceAll("\\", "/");
  const root = decodeURIComponent(new URL("../../", import.meta.url).pathname);
  return path.startsWith(root) ? path.slice(root.length) : path;
}

function isShipped(path: string): boolean {
  return /^(?:ee\/)?(?:src\/|main\.ts$|mod\.ts$)/.test(path);
}

/** The name of an identifier, also where it is reached through `globalThis`. */
function nameOf(node: Deno.lint.Node): string | undefined {
  if (node.type === "Identifier") return node.name;
  if (node.type !== "MemberExpression") return undefined;
  return nameOf(node.object) === "globalThis" ? memberOf(node) : undefined;
}

function memberOf(node: Deno.lint.MemberExpression): string | undefined {
  const { property } = node;
  if (property.type === "Identifier" && !node.computed) return property.name;
  return property.type === "Literal" && typeof property.value === "string"
    ? property.value
    : undefined;
}
