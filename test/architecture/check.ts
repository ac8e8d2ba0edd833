import { listImports } from "./imports.ts";
import { BY_PACKAGE, DRAWERS, MOST_LINES, type Zone, ZONES } from "./rules.ts";

/** The files of the house, and the packages by which it names parts of itself. */
export interface House {
  /** TypeScript by path from the root, such as `src/node.ts`. */
  readonly files: ReadonlyMap<string, string>;
  /** Path by specifier, such as `src/domain/mod.ts` by `@covey/core/domain`. */
  readonly packages: ReadonlyMap<string, string>;
}

/**
 * Hold a house against the rules.
 *
 * @param house What there is.
 * @returns One line a violation: which arrow, and why it is none.
 */
export function findViolations(house: House): string[] {
  const found: string[] = [];
  const arrows = new Map<string, readonly string[]>();
  for (const [path, source] of house.files) {
    found.push(...checkFile(path, source));
    const zone = zoneOf(path);
    if (zone === undefined) {
      found.push(
        `${path} lies in no room; name one in test/architecture/rules.ts`,
      );
      continue;
    }
    const targets = new Set<string>();
    for (const { specifier, typeOnly } of listImports(path, source)) {
      if (specifier === null) {
        if (isShipped(path)) {
          found.push(
            `${path} computes what it imports; write the specifier out, so that this test and the compiler see it`,
          );
        }
        continue;
      }
      const target = resolve(path, specifier, house.packages);
      if (target === undefined) continue;
      if (target.own) targets.add(target.path);
      found.push(...checkArrow(path, zone, target, typeOnly));
    }
    arrows.set(path, [...targets]);
  }
  for (const cycle of findCycles(arrows)) {
    found.push(
      `${
        cycle.join(", ")
      } import each other in a circle; move what they share into a file of its own`,
    );
  }
  return found;
}

interface Target {
  readonly path: string;
  /** False for a package name of ours that is not exported. */
  readonly own: boolean;
  readonly byPackage: boolean;
}

function checkArrow(
  path: string,
  zone: Zone,
  target: Target,
  typeOnly: boolean,
): string[] {
  if (!target.own) {
    return [
      `${path} imports ${target.path}, which its package does not export`,
    ];
  }
  const to = zoneOf(target.path);
  if (to === undefined) {
    return [`${path} imports ${target.path}, which lies in no room`];
  }
  const found: string[] = [];
  const inCore = !target.path.startsWith("ee/");
  if (
    BY_PACKAGE.includes(zone.name) && inCore && !target.byPackage &&
    to.name !== "fakes"
  ) {
    found.push(
      `${path} reaches ${target.path} by a path: ee/ imports the core as @covey/core/… alone, since it is another package under another licence`,
    );
  }
  if (!BY_PACKAGE.includes(zone.name) && target.byPackage && inCore) {
    found.push(
      `${path} imports its own package by name; use the path to ${target.path}`,
    );
  }
  if (to.name === zone.name || zone.values.includes(to.name)) return found;
  const mayTypes = zone.types?.includes(to.name) ?? false;
  if (mayTypes && typeOnly) return found;
  const allowed = [
    ...zone.values,
    ...(zone.types ?? []).map((name) => `types of ${name}`),
  ];
  found.push(
    `${path} (${zone.name}) imports ${
      mayTypes ? "values of " : ""
    }${target.path} (${to.name}), but may import ${
      allowed.length === 0 ? "nothing of ours" : `only ${allowed.join(", ")}`
    }: ${zone.why}`,
  );
  return found;
}

function checkFile(path: string, source: string): string[] {
  const found: string[] = [];
  const stem = (path.split("/").at(-1) ?? "").replace(/(_test)?\.tsx?$/, "");
  const drawer = DRAWERS.find((name) =>
    stem === name || stem.endsWith(`_${name}`)
  );
  if (drawer !== undefined) {
    found.push(
      `${path} is called "${drawer}"; name it for the one thing it holds`,
    );
  }
  if (isShipped(path)) {
    const lines = source.trimEnd().split("\n").length;
    if (
      lines > MOST_LINES &&
      !/^[\s/*]*Long because: \S/m.test(firstComment(source))
    ) {
      found.push(
        `${path} has ${lines} lines, over ${MOST_LINES}; split it by who owns which state, or begin it with a comment "Long because: …"`,
      );
    }
  }
  return found;
}

function firstComment(source: string): string {
  return /^\s*(?:\/\*[\s\S]*?\*\/|(?:\/\/.*\n)+)/.exec(source)?.[0] ?? "";
}

function isShipped(path: string): boolean {
  return /^(?:ee\/)?src\//.test(path);
}

function zoneOf(path: string): Zone | undefined {
  return ZONES.find(({ holds }) =>
    holds.some((one) => one.endsWith("/") ? path.startsWith(one) : path === one)
  );
}

function resolve(
  path: string,
  specifier: string,
  packages: ReadonlyMap<string, string>,
): Target | undefined {
  if (/^\.{1,2}\//.test(specifier)) {
    const url = new URL(specifier, `file:///${path}`);
    return { path: url.pathname.slice(1), own: true, byPackage: false };
  }
  if (!/^@covey\//.test(specifier)) return undefined;
  const exported = packages.get(specifier);
  return {
    path: exported ?? specifier,
    own: exported !== undefined,
    byPackage: true,
  };
}

/** Strongly connected components of more than one file (Tarjan 1972), and files that import themselves. */
function findCycles(
  arrows: ReadonlyMap<string, readonly string[]>,
): string[][] {
  const cycles: string[][] = [];
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  function visit(path: string): number {
    const own = order.size;
    order.set(path, own);
    let low = own;
    open.push(path);
    for (const target of arrows.get(path) ?? []) {
      if (!order.has(target)) low = Math.min(low, visit(target));
      else if (open.includes(target)) {
        low = Math.min(low, lowest.get(target) ?? order.get(target) ?? low);
      }
    }
    lowest.set(path, low);
    if (low === own) {
      const component = open.splice(open.indexOf(path));
      const selfish = arrows.get(path)?.includes(path) ?? false;
      if (component.length > 1 || selfish) cycles.push(component.sort());
    }
    return low;
  }
  for (const path of arrows.keys()) {
    if (!order.has(path)) visit(path);
  }
  return cycles;
}
