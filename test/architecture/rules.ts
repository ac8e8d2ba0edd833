/** A part of the house and what it may import. */
export interface Zone {
  readonly name: string;
  /** Files, or folders by a closing slash; the first zone that holds a file wins. */
  readonly holds: readonly string[];
  /** Names of zones whose values it may import, its own aside. */
  readonly values: readonly string[];
  /** Names of zones of which it may import types alone. */
  readonly types?: readonly string[];
  /** Why, for whoever meets the rule. */
  readonly why: string;
}

const ROOMS = [
  "config",
  "router",
  "engines",
  "models",
  "sensors",
  "tasks",
  "store",
  "observe",
];
const ABOVE = ["api", "dashboard", "cli"];
const SOURCE = ["domain", "platform", ...ROOMS, ...ABOVE];

/** Every arrow of the house. What is not here is forbidden. */
export const ZONES: readonly Zone[] = [
  {
    name: "domain",
    holds: ["src/domain/"],
    values: [],
    why: "the words are pure and know nobody",
  },
  {
    name: "platform",
    holds: ["src/platform/"],
    values: ["domain"],
    why: "ports and adapters serve the rooms and do not know them",
  },
  ...ROOMS.map((room): Zone => ({
    name: room,
    holds: [`src/${room}/`],
    values: ["domain", "platform"],
    why: "rooms are siblings that meet in src/node.ts alone",
  })),
  ...ABOVE.map((room): Zone => ({
    name: room,
    holds: [`src/${room}/`],
    values: ["domain", "platform"],
    types: ROOMS,
    why:
      "what stands above the rooms is handed them, and needs only their types",
  })),
  {
    name: "composition root",
    holds: [
      "src/node.ts",
      "src/node_options.ts",
      "src/data_folder.ts",
      "src/api_identity.ts",
      "src/own_drain.ts",
      "src/own_engines.ts",
      "src/own_forecasts.ts",
      "src/own_packs.ts",
      "src/gpu_advice.ts",
      "src/stopping.ts",
      "src/cluster_slot.ts",
    ],
    values: SOURCE,
    why: "it wires the node, and the process edge wires it",
  },
  {
    name: "core edge",
    holds: ["src/main.ts"],
    values: [...SOURCE, "composition root", "manifest"],
    why: "it wires the process",
  },
  {
    name: "manifest",
    holds: ["deno.json", "ee/deno.json"],
    values: [],
    why: "it holds the version, which the process edge hands on",
  },
  {
    name: "core surface",
    holds: ["mod.ts"],
    values: [...SOURCE, "composition root"],
    why: "it re-exports what others may build on",
  },
  {
    name: "ee cli",
    holds: ["ee/src/cli/"],
    values: ["domain", "platform", "cli", "ee"],
    why:
      "the cluster's commands are the core's kind of command; most ask the node, some do their work while none runs",
  },
  {
    name: "ee",
    holds: ["ee/src/"],
    values: ["domain", "platform"],
    why:
      "cluster code knows the core as @covey/core/domain and /platform alone",
  },
  {
    name: "ee edge",
    holds: ["ee/main.ts", "ee/mod.ts"],
    values: [
      "ee",
      "ee cli",
      "domain",
      "platform",
      "core surface",
      "core edge",
      "manifest",
    ],
    why: "it hands the cluster to the core's own entry",
  },
  {
    name: "ee tests",
    holds: ["ee/test/"],
    values: [
      "ee",
      "ee cli",
      "ee edge",
      "domain",
      "platform",
      "cli",
      "core surface",
      "fakes",
    ],
    why: "they test cluster code, with the core as its users have it",
  },
  {
    name: "fakes",
    holds: ["test/fakes/"],
    values: SOURCE,
    why: "both test trees share them",
  },
  {
    name: "tests",
    holds: ["test/"],
    values: [
      ...SOURCE,
      "composition root",
      "core surface",
      "fakes",
      "chores",
      "manifest",
    ],
    why:
      "the core's tests pass with ee/ moved away, and start processes to test the edge",
  },
  {
    name: "chores",
    holds: ["scripts/", "compile/"],
    values: [
      ...SOURCE,
      "composition root",
      "core surface",
      "core edge",
      "ee",
      "ee cli",
      "ee edge",
      "manifest",
    ],
    why: "they use the product, which never uses them",
  },
];

/** Zones that import the core by its package name and never by a path. */
export const BY_PACKAGE: readonly string[] = [
  "ee",
  "ee cli",
  "ee edge",
  "ee tests",
];

/** Names that say nothing of what a file holds. */
export const DRAWERS: readonly string[] = [
  "util",
  "utils",
  "helper",
  "helpers",
  "common",
  "misc",
  "types",
];

/** Most lines of a file under src/ and ee/src/ that gives no reason for more. */
export const MOST_LINES = 500;
