import { escapeUnprintable } from "../domain/mod.ts";
import { askNode } from "./ask.ts";
import type { Command } from "./command.ts";
import { loadReplyParsers, type ModelsReply } from "./replies.ts";
import { formatTable } from "./table.ts";

const USAGE =
  "[list | verify [MODEL] | convert MODEL --to q8_0 [--as NAME]] [--json]";
const NO_MODEL =
  "No model yet: `covey pull org/repo` fetches one, `covey import --found` takes over\nwhat other programs have, or put a GGUF file into the models folder";

/** `covey models`. */
export const modelsCommand: Command = {
  name: "models",
  // Ollama's words for it.
  aliases: ["list", "ls"],
  summary: "List the models that the pool serves",
  usage: USAGE,
  help: () =>
    [
      "`verify` reads models of this node again and compares them with their manifests;",
      "it fails where one differs, and names files that are no models. `convert` makes",
      "a model with F32, F16 or BF16 weights into one of about half the size (Q8_0),",
      "beside the original, which stays.",
    ].join("\n"),
  async run(args, context) {
    const at = args.findIndex((arg) => !arg.startsWith("-"));
    const word = args[at];
    const rest = args.filter((_, index) => index !== at);
    if (word === "verify") {
      const { verifyModels } = await import("./verify_models.ts");
      return verifyModels(rest, context);
    }
    if (word === "convert") {
      const { convertModel } = await import("./convert_model.ts");
      return convertModel(rest, context);
    }
    return askNode({
      usage: `models ${USAGE}`,
      args: word === "list" ? rest : args,
      path: () => ({ path: "/v1/models" }),
      async show(body) {
        const reply = (await loadReplyParsers()).models(body);
        if (reply === undefined) return null;
        return formatModels(reply);
      },
    }, context);
  },
};

/** Sound is no text: what listens or speaks has no context that one could count. */
function hasContext(capabilities: readonly string[]): boolean {
  return !capabilities.every((one) =>
    one === "speech" || one === "transcription"
  );
}

/**
 * Write models for a terminal, or how to come by one.
 *
 * @param reply What the node answered, or a part of it.
 */
export function formatModels({ data }: ModelsReply): string {
  if (data.length === 0) return NO_MODEL;
  const rows = data.map((model) =>
    [
      model.id,
      model.capabilities.join(" "),
      hasContext(model.capabilities) ? String(model.context_length) : "–",
      String(model.nodes.length),
      model.warm ? "warm" : "cold",
    ].map(escapeUnprintable)
  );
  const titles = ["MODEL", "CAPABILITIES", "CONTEXT", "NODES", "STATE"];
  return formatTable([titles, ...rows], [2, 3]);
}
