import {
  Fault,
  type ImportOutcome,
  type Log,
  type ModelImports,
} from "../../domain/mod.ts";
import { FileError, type Files } from "../../platform/mod.ts";
import { inspectFile } from "../model_inspection.ts";
import type { ModelStore } from "../model_store.ts";
import { isSafeName } from "../safe_name.ts";
import { storageFault } from "../storage_fault.ts";
import { findModels, type FoundModel } from "./find_models.ts";
import type { UsualPlace } from "./usual_places.ts";

const FOLDER = "imported";
const FOLDER_MODE = 0o755;

/** What imports need. */
export interface ImportsOptions {
  readonly files: Files;
  readonly log: Log;
  readonly store: Pick<ModelStore, "list" | "refresh">;
  readonly modelsDir: string;
  /** Where other programs usually keep models. */
  readonly places?: readonly UsualPlace[];
}

/**
 * Make the way in for models of other programs: their files are linked into the
 * models folder, and copied only where the file system can not link them.
 *
 * @param options What it needs.
 */
export function createImports(options: ImportsOptions): ModelImports {
  return new FolderImports(options);
}

interface Taken {
  readonly imported: { model: string; shared: boolean }[];
  readonly skipped: { model: string; reason: string }[];
}

class FolderImports implements ModelImports {
  readonly #options: ImportsOptions;

  constructor(options: ImportsOptions) {
    this.#options = options;
  }

  async importFolder(
    folder: string,
    signal: AbortSignal,
  ): Promise<ImportOutcome> {
    const { files, modelsDir, store } = this.#options;
    checkFolder(folder, modelsDir);
    const taken: Taken = { imported: [], skipped: [] };
    try {
      const found = await findModels(files, folder, signal);
      await this.#take(found, taken, signal);
    } catch (error) {
      throw storageFault(error, "import the folder");
    } finally {
      await store.refresh();
    }
    return taken;
  }

  async importFound(signal: AbortSignal): Promise<ImportOutcome> {
    const { files, modelsDir, places = [], store } = this.#options;
    const taken: Taken = { imported: [], skipped: [] };
    const programs = new Set<string>();
    try {
      for (const { folder, program } of places) {
        if (`${folder}/`.startsWith(`${modelsDir}/`)) continue;
        let found: readonly FoundModel[];
        try {
          found = await findModels(files, folder, signal);
        } catch (error) {
          if (!(error instanceof FileError)) throw error;
          if (error.problem === "missing") continue;
          const reason = "This user may not read the folder";
          taken.skipped.push({ model: `what ${program} keeps`, reason });
          continue;
        }
        programs.add(program);
        await this.#take(found, taken, signal);
      }
    } catch (error) {
      throw storageFault(error, "import models");
    } finally {
      await store.refresh();
    }
    return { ...taken, programs: [...programs] };
  }

  async #take(
    found: readonly FoundModel[],
    { imported, skipped }: Taken,
    signal: AbortSignal,
  ): Promise<void> {
    const { files, log, modelsDir, store } = this.#options;
    const target = await makeTarget(files, modelsDir);
    const names = new Set([
      ...store.list().map(({ name }) => name),
      ...imported.map(({ model }) => model),
    ]);
    for (const model of found) {
      signal.throwIfAborted();
      const reason = names.has(model.name)
        ? "A model of that name lies here already"
        : await whyNot(files, model);
      if (reason !== null) {
        skipped.push({ model: model.name, reason });
        continue;
      }
      const taken = await take(files, model, target);
      if (taken.kind === "left") {
        skipped.push({ model: model.name, reason: taken.reason });
        continue;
      }
      names.add(model.name);
      const { shared } = taken;
      imported.push({ model: model.name, shared });
      log.info("Imported a model", { model: model.name, shared });
    }
  }
}

function checkFolder(folder: string, modelsDir: string): void {
  const bad = !folder.startsWith("/") || folder.includes("\0")
    ? "Give the absolute path of a folder on this machine"
    : `${folder}/`.startsWith(`${modelsDir}/`)
    ? "What lies in the models folder is offered already"
    : null;
  if (bad !== null) {
    throw new Fault("invalid_request", bad, { param: "folder" });
  }
}

/** A link in its place would lead models out of the models folder. */
async function makeTarget(files: Files, modelsDir: string): Promise<string> {
  const target = `${modelsDir}/${FOLDER}`;
  await files.makeFolder(target, FOLDER_MODE);
  const entry = (await files.list(modelsDir)).find(({ name }) =>
    name === FOLDER
  );
  if (entry?.kind === "folder") return target;
  throw new Fault(
    "storage_failed",
    `"${FOLDER}" in the models folder is no folder: move it away`,
  );
}

async function whyNot(
  files: Files,
  model: FoundModel,
): Promise<string | null> {
  if (model.problem !== null) return model.problem;
  if (model.projector !== null && !isSafeName(model.projector.name)) {
    return "The name of its vision part is unsafe here";
  }
  for (const { name, path } of model.files) {
    if (!isSafeName(name)) return "Its name is unsafe here";
    try {
      const { kind, sizeBytes } = await files.stat(path);
      if (kind !== "file") return "It is no file";
      const found = await inspectFile(files, path, sizeBytes);
      if (found.kind === "unsound") return found.reason;
      if (found.header.architecture === "clip") {
        return "It is the vision part of another model";
      }
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      return "Its file can not be read";
    }
  }
  return null;
}

/** What came of one: whether its bytes are shared with the other program, or why it was left. */
type Take =
  | { readonly kind: "taken"; readonly shared: boolean }
  | { readonly kind: "left"; readonly reason: string };

/** Put a model's files into the models folder, all or none; the first one last. */
async function take(
  files: Files,
  model: FoundModel,
  target: string,
): Promise<Take> {
  // A folder of their own tells which model a vision part belongs to.
  const folder = model.projector === null ? target : `${target}/${model.name}`;
  if (folder !== target) await files.makeFolder(folder, FOLDER_MODE);
  const vision = model.projector === null ? [] : [model.projector];
  const placed: string[] = [];
  let shared = true;
  try {
    for (const { name, path } of [...model.files, ...vision].toReversed()) {
      const to = `${folder}/${name}`;
      if (await files.link(path, to) === "copied") shared = false;
      placed.push(to);
      // A link, or the file itself, may be another one by now.
      const { sizeBytes } = await files.stat(to);
      if ((await inspectFile(files, to, sizeBytes)).kind === "sound") continue;
      for (const path of placed) await files.remove(path);
      return { kind: "left", reason: "It changed while it was taken over" };
    }
    return { kind: "taken", shared };
  } catch (error) {
    for (const path of placed) await files.remove(path);
    if (!(error instanceof FileError) || error.problem !== "exists") {
      throw error;
    }
    const reason =
      "A file of that name lies here already, and is no usable model";
    return { kind: "left", reason };
  }
}
