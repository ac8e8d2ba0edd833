import { bytesToStayFree, Fault } from "../../domain/mod.ts";
import { type Files, ifThere } from "../../platform/mod.ts";
import { groupModelFiles } from "../model_files.ts";
import type { ModelStore } from "../model_store.ts";
import type { PlannedFile, PullPlan } from "./pull_plan.ts";

/** Left free on a disk of unknown size, whatever a model takes. */
const SPARE_BYTES = 256 * 1024 * 1024;
const FOLDER_MODE = 0o755;

/** What is looked at before anything is fetched. */
export interface PlacePorts {
  readonly files: Files;
  readonly store: Pick<ModelStore, "list" | "manifest">;
  readonly modelsDir: string;
  /** Free space where the models are, or null where it is not known. */
  freeDiskBytes(): number | null;
  /** Size of that disk, or null where it is not known; absent where nobody says. */
  totalDiskBytes?(): number | null;
}

/**
 * Name that a plan's model is offered under.
 *
 * @param plan What is pulled.
 */
export function modelOf({ files }: PullPlan): string {
  const [model] = groupModelFiles(files.map(({ name }) => ({
    path: name,
    sizeBytes: 0,
    modifiedMs: null,
    identity: null,
  })));
  return model?.name ?? files[0].name;
}

/**
 * Bytes of files together, or null where the source does not say.
 *
 * @param files What is pulled.
 */
export function totalOf(files: readonly PlannedFile[]): number | null {
  let total = 0;
  for (const { sizeBytes } of files) {
    if (sizeBytes === null) return null;
    total += sizeBytes;
  }
  return total;
}

/**
 * Whether the very bytes that the source publishes are offered already.
 *
 * @param ports What it needs.
 * @param plan What is pulled.
 * @param model Its name.
 */
export async function isHere(
  { store }: Pick<PlacePorts, "store">,
  plan: PullPlan,
  model: string,
): Promise<boolean> {
  const here = await store.manifest(model);
  return here?.files.length === plan.files.length &&
    plan.files.every(({ sha256 }, at) =>
      sha256 !== null && sha256 === here.files[at]?.sha256
    );
}

/**
 * Refuse what would take the place of something else.
 *
 * @param ports What it needs.
 * @param plan What is pulled.
 * @param where The folder its files are to lie in.
 * @param model Its name.
 * @throws {Fault} `conflict`.
 */
export async function checkPlace(
  { files, store }: PlacePorts,
  plan: PullPlan,
  where: string,
  model: string,
): Promise<void> {
  const quoted = JSON.stringify(model);
  if (store.list().some(({ name }) => name === model)) {
    throw new Fault(
      "conflict",
      `Another model ${quoted} lies here already; \`covey models verify\` checks it, \`covey rm\` makes room for another`,
    );
  }
  for (const { name } of plan.files) {
    if (await isThere(files, `${where}/${name}`)) {
      throw new Fault(
        "conflict",
        `A file of the model ${quoted} lies here already and is no usable model: remove it first`,
      );
    }
  }
}

/**
 * Whether something has a path.
 *
 * @throws {FileError} When that can not be told.
 */
export async function isThere(files: Files, path: string): Promise<boolean> {
  return await ifThere(files.stat(path)) !== null;
}

/**
 * Refuse what does not fit on the disk, or would leave less of it than has to
 * stay free.
 *
 * @param ports What it needs.
 * @param comingBytes What comes, or null where it is not known.
 * @throws {Fault} `storage_failed`.
 */
export function checkSpace(
  ports: Pick<PlacePorts, "freeDiskBytes" | "totalDiskBytes">,
  comingBytes: number | null,
): void {
  const freeBytes = ports.freeDiskBytes();
  if (freeBytes === null) return;
  const diskBytes = ports.totalDiskBytes?.() ?? null;
  if (comingBytes === null && diskBytes === null) return;
  const staysBytes = diskBytes === null
    ? SPARE_BYTES
    : Math.max(SPARE_BYTES, bytesToStayFree(diskBytes));
  if ((comingBytes ?? 0) + staysBytes <= freeBytes) return;
  const shown = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`;
  const coming = comingBytes === null
    ? ""
    : `The model has ${shown(comingBytes)}, and `;
  throw new Fault(
    "storage_failed",
    `${coming}${coming === "" ? "The" : "the"} disk has ${
      shown(freeBytes)
    } left, and ${
      shown(staysBytes)
    } have to stay free: make room, or set COVEY_MODELS_DIR to another disk`,
  );
}

/**
 * Make folders one by one: a link among them would lead the model out of the
 * models folder.
 *
 * @param files The file system.
 * @param modelsDir The models folder.
 * @param folders Names below it, from the top.
 * @throws {Fault} `storage_failed` where something else has a name of theirs.
 * @throws {FileError} When one can not be made.
 */
export async function makeFolders(
  files: Files,
  modelsDir: string,
  folders: readonly string[],
): Promise<void> {
  let parent = modelsDir;
  for (const folder of folders) {
    const entry = (await files.list(parent)).find(({ name }) =>
      name === folder
    );
    parent = `${parent}/${folder}`;
    if (entry === undefined) await files.makeFolder(parent, FOLDER_MODE);
    else if (entry.kind !== "folder") {
      throw new Fault(
        "storage_failed",
        `There is no folder for the model: ${
          JSON.stringify(folder)
        } in the models folder is a ${entry.kind}`,
      );
    }
  }
}
