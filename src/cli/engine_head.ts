import type { Command } from "./command.ts";

/**
 * What `covey engine` is called and what it tells of itself, apart from what it
 * does: a node that serves has the one in memory and not the other.
 */
export const ENGINE_HEAD = {
  name: "engine",
  summary: "List, add and remove GPU libraries for llama.cpp",
  usage: "list | add NAME [--from MEMBER] | remove NAME [--json]",
  help: () =>
    [
      "What a GPU needs is not in the program: vulkan (27 MB) for most cards, cuda",
      "(320 MB) for NVIDIA's. add fetches what was published with this release from the",
      "npm registry of NPM_CONFIG_REGISTRY, else the one npm uses here, and where that",
      "fails from a member that has it; --from asks that member alone. Whoever gives it,",
      "it is held against the digest that this release knows.",
      "The next model that is loaded uses it; `covey unload MODEL` has one loaded anew.",
    ].join("\n"),
} satisfies Omit<Command, "run">;
