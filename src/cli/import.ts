import {
  escapeUnprintable,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../domain/mod.ts";
import { sayFailure, sayUsage, UNKNOWN_FORM } from "./ask.ts";
import { type Command, DONE, FAILED } from "./command.ts";
import { readFlags } from "./flags.ts";
import { type Progress, ProgressTeller } from "./progress.ts";

const USAGE = "FOLDER | --found [--json]";

/** The node tells that it works, and not how far it is. */
const IMPORTING: Progress = {
  what: "importing",
  doneBytes: null,
  totalBytes: null,
  bytesPerSecond: null,
  remainingMs: null,
  from: [],
};

/** `covey import`. */
export const importCommand: Command = {
  name: "import",
  summary: "Take models over from a folder of another program",
  usage: USAGE,
  help: () =>
    [
      "FOLDER is a path on the node's machine: the store of Ollama (~/.ollama), the",
      "cache of Hugging Face (~/.cache/huggingface/hub), the folder of LM Studio",
      "(~/.lmstudio/models), or any folder with GGUF files. --found looks into all of",
      "these, as they are for the user that the node runs as, and where OLLAMA_MODELS,",
      "HF_HOME and HF_HUB_CACHE of the node say. What is taken over stays",
      "where it is; where the file system can link, the bytes are shared and not copied.",
    ].join("\n"),
  async run(args, context) {
    const given = readFlags(args, { switches: ["found"] });
    const usage = `import ${USAGE}`;
    if (given.kind === "wrong") return sayUsage(given.message, usage, context);
    const [folder = "", ...more] = given.words;
    const found = given.switches.has("found");
    if (more.length > 0 || found === (folder !== "")) {
      return sayUsage("Give one folder, or --found", usage, context);
    }
    const path = absolute(folder, context.workingFolder);
    using teller = new ProgressTeller(context, null);
    const reply = await context.postLines(
      "/covey/imports",
      found ? { found } : { folder: path },
      ({ status }) => {
        if (!given.json && status === "importing") teller.tell(IMPORTING);
      },
    );
    teller[Symbol.dispose]();
    if (reply.kind === "refused" && !found) {
      // The node keeps paths to itself, and may be on another machine.
      const message = `${reply.message}; the node was asked for "${path}"`;
      return sayFailure({ ...reply, message }, context);
    }
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
        : lines.join("\n") || (found
          ? "No other program keeps models where they usually do"
          : "There is no model in that folder"),
    );
    return DONE;
  },
};

/** The node runs in another folder than this command. */
function absolute(folder: string, workingFolder: string): string {
  const path = folder.startsWith("/") ? folder : `${workingFolder}/${folder}`;
  const steps: string[] = [];
  for (const step of path.split("/")) {
    if (step === "..") steps.pop();
    else if (step !== "" && step !== ".") steps.push(step);
  }
  return `/${steps.join("/")}`;
}

function objectsOf(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
