import {
  escapeUnprintable,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../domain/mod.ts";
import { readArguments } from "./arguments.ts";
import { sayFailure, sayUsage, UNKNOWN_FORM } from "./ask.ts";
import { type Command, DONE, FAILED } from "./command.ts";

const USAGE = "FOLDER [--json]";

/** `covey import`. */
export const importCommand: Command = {
  name: "import",
  summary: "Take models over from a folder of another program",
  usage: USAGE,
  help: () =>
    [
      "FOLDER is an absolute path on the node's machine: the store of Ollama",
      "(~/.ollama), the cache of Hugging Face (~/.cache/huggingface/hub), the folder of",
      "LM Studio (~/.lmstudio/models), or any folder with GGUF files. It stays as it",
      "is; where the file system can link, the bytes are shared and not copied.",
    ].join("\n"),
  async run(args, context) {
    const given = readArguments(args, ["folder"]);
    const usage = `import ${USAGE}`;
    if (given.kind === "wrong") return sayUsage(given.message, usage, context);
    const [folder = ""] = given.words;
    const reply = await context.postLines(
      "/covey/imports",
      { folder },
      () => {},
    );
    if (reply.kind !== "answered") return sayFailure(reply, context);
    const { body } = reply;
    if (!isJsonObject(body) || !Array.isArray(body["imported"])) {
      context.stderr(UNKNOWN_FORM);
      return FAILED;
    }
    const imported = objectsOf(body["imported"]);
    const skipped = objectsOf(body["skipped"]);
    const lines = [
      ...imported.map(({ model, shared }) =>
        `${String(model)}: ${shared === true ? "linked" : "copied"}`
      ),
      ...skipped.map(({ model, reason }) =>
        `${String(model)}: left out, ${String(reason)}`
      ),
    ].map(escapeUnprintable);
    context.stdout(
      given.json
        ? JSON.stringify(body)
        : lines.join("\n") || "There is no model in that folder",
    );
    return DONE;
  },
};

function objectsOf(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
