import type { Command } from "./command.ts";

/** `covey pull`. */
export const pullCommand: Command = {
  name: "pull",
  summary: "Fetch a model from a hub or a URL",
  usage: "SOURCE [--revision R] [--limit MB/S] [--json] | --list | --cancel ID",
  help: () =>
    [
      "SOURCE is org/repo, org/repo:Q4_K_M, org/repo@revision, the same behind hf.co/,",
      "or the URL of a .gguf file. Where no quantisation is named, Q4_K_M is taken, else",
      "the nearest that is there; split files are taken whole. A pull goes on when this",
      "command ends, and after a restart of the node; HF_ENDPOINT names another hub,",
      "HF_TOKEN opens what is not public, both in the environment of the node.",
      "Members that have the model, or pull it, give it; also where its source can not be",
      "reached. --limit holds the pull back to so many megabytes a second.",
    ].join("\n"),
  async run(args, context) {
    const { runPullCommand } = await import("./run_pull.ts");
    return runPullCommand(args, context);
  },
};
