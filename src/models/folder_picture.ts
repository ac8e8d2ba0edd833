import type { InvalidModel, LocalModel } from "../domain/mod.ts";
import type { FolderScan } from "./folder_scan.ts";
import {
  folderOf,
  type GgufFile,
  groupModelFiles,
  type ModelFiles,
} from "./model_files.ts";
import { type Inspection, judgeModel } from "./model_inspection.ts";

/** What the models folder holds, as it is offered. */
export interface FolderPicture {
  /** Sorted by name. */
  readonly models: readonly LocalModel[];
  /** Files of the models, by name. */
  readonly parts: ReadonlyMap<string, ModelFiles>;
  /** Vision parts that lie beside a model. */
  readonly projectors: readonly GgufFile[];
  /** Sorted by name. */
  readonly invalid: readonly InvalidModel[];
}

/** What is known of files when a picture is made. */
export interface PictureFacts {
  readonly modelsDir: string;
  /** What opening a file showed; undefined where it was not opened. */
  inspect(file: GgufFile): Inspection | undefined;
  /** Root of a model, or null while it is not known. */
  rootOf(files: ModelFiles): string | null;
}

/**
 * Tell which models a scan of the models folder has found.
 *
 * @param scan Names that are there.
 * @param facts What is known of the files.
 */
export function pictureOf(
  scan: FolderScan,
  { inspect, modelsDir, rootOf }: PictureFacts,
): FolderPicture {
  const models = new Map<string, LocalModel>();
  const parts = new Map<string, ModelFiles>();
  const identities = new Map<string, string | null>();
  const invalid: InvalidModel[] = scan.refused.map(({ path, reason }) => ({
    name: path,
    reason,
  }));
  const lone: { name: string; file: GgufFile; reason: string }[] = [];
  for (const found of groupModelFiles(scan.files)) {
    const { name } = found;
    if (found.kind === "incomplete") {
      const { parts, missing } = found;
      const reason = `Parts are missing (${missing.join(", ")} of ${parts})`;
      invalid.push({ name, reason });
      continue;
    }
    const judgement = judgeModel(
      modelsDir,
      found,
      (file) => inspect(file) ?? UNSEEN,
    );
    const [file] = found.files;
    const { identity, path } = file;
    if (judgement.kind === "projector") {
      lone.push({ name, file, reason: judgement.reason });
    } else if (judgement.kind === "invalid") {
      invalid.push({ name, reason: judgement.reason });
    } else if (!models.has(name)) {
      const root = rootOf(found);
      models.set(name, { ...judgement.model, root });
      parts.set(name, found);
      identities.set(name, identity);
    } else if (identity === null || identities.get(name) !== identity) {
      // The same file under one name twice is one model, and no news.
      const reason = `Another file is offered as "${name}": rename this one`;
      invalid.push({ name: path, reason });
    }
  }
  const housed = new Set([...parts.values()].map(housedIn));
  const projectors: GgufFile[] = [];
  for (const { file, name, reason } of lone) {
    const folder = folderOf(file.path);
    if (folder !== "" && housed.has(folder)) projectors.push(file);
    else invalid.push({ name, reason });
  }
  return {
    models: [...models.values()].sort(byName),
    parts,
    projectors,
    invalid: invalid.sort(byName),
  };
}

/**
 * Folder that a model's first part lies in.
 *
 * @param model Its files.
 */
export function housedIn({ files }: ModelFiles): string {
  return folderOf(files[0].path);
}

/** Never met in practice: every grouped file was inspected in the same scan. */
const UNSEEN: Inspection = {
  kind: "unsound",
  reason: "The file was not inspected",
  transient: true,
};

function byName(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
