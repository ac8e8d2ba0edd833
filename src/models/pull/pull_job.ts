import { Fault, type FileDigest, type PullOutcome } from "../../domain/mod.ts";
import { FileError, type Files } from "../../platform/mod.ts";
import { digestFile } from "../digest_file.ts";
import { groupModelFiles } from "../model_files.ts";
import { inspectFile } from "../model_inspection.ts";
import type { ModelStore } from "../model_store.ts";
import { downloadFile, type DownloadPorts } from "./file_download.ts";
import { dropPart } from "./part_state.ts";
import { type PlannedFile, planPull, type PullPlan } from "./pull_plan.ts";
import type { PullSource } from "./pull_source.ts";
import { retry } from "./retry.ts";

/** Left free on the disk, whatever a model takes. */
const SPARE_BYTES = 256 * 1024 * 1024;
const FOLDER_MODE = 0o755;

/** What a pull needs. */
export interface PullPorts extends DownloadPorts {
  readonly store: Pick<
    ModelStore,
    "adopt" | "list" | "manifest" | "refresh"
  >;
  readonly modelsDir: string;
  /** Free space where the models are, or null where it is not known. */
  freeDiskBytes(): number | null;
}

/** Told of how far a pull is. */
export interface PullWatcher {
  planned(totalBytes: number | null): void;
  downloading(doneBytes: number, totalBytes: number | null): void;
  verifying(): void;
  publishing(): void;
}

/**
 * Fetch a model's files, check them and put them into the models folder, all of
 * them or none. A model that is here already with the published bytes is done.
 *
 * @param ports What it needs.
 * @param source What to pull.
 * @param steps Folders for partial files below the models folder, so that they lie on its disk.
 * @param watcher Told of progress.
 * @param signal Aborting it ends the pull; partial files stay.
 * @throws {Fault} When it can not be pulled.
 * @throws {FileError} When it can not be written.
 */
export async function runPull(
  ports: PullPorts,
  source: PullSource,
  steps: readonly string[],
  watcher: PullWatcher,
  signal: AbortSignal,
): Promise<PullOutcome> {
  const { files, modelsDir, store } = ports;
  const plan = await retry(
    ports,
    () => planPull(source, ports.http, signal),
    signal,
  );
  const where = [modelsDir, ...plan.folders].join("/");
  const model = modelOf(plan);
  if (await isHere(ports, plan, model)) {
    return { model, sizeBytes: totalOf(plan) ?? 0, verified: true };
  }
  await checkPlace(ports, plan, where, model);
  await files.makeFolder(modelsDir, FOLDER_MODE);
  await makeFolders(files, modelsDir, steps);
  const folder = [modelsDir, ...steps].join("/");
  const total = totalOf(plan);
  checkSpace(ports, total);
  watcher.planned(total);
  const digests: { file: PlannedFile; digest: FileDigest }[] = [];
  let beforeBytes = 0;
  let verified = true;
  for (const file of plan.files) {
    const startBytes = beforeBytes;
    const part = `${folder}/${file.name}.part`;
    const tell = (doneBytes: number, fileBytes: number | null) =>
      watcher.downloading(startBytes + doneBytes, total ?? fileBytes);
    const got = await fetchSound(ports, file, part, tell, watcher, signal);
    verified &&= got.verified;
    beforeBytes += got.digest.sizeBytes;
    digests.push({ file, digest: got.digest });
  }
  watcher.publishing();
  await makeFolders(files, modelsDir, plan.folders);
  // The first part last: without it the others are no model yet.
  for (const { digest, file } of digests.toReversed()) {
    await files.rename(`${folder}/${file.name}.part`, `${where}/${file.name}`);
    await store.adopt([...plan.folders, file.name].join("/"), digest);
  }
  await store.refresh();
  return { model, sizeBytes: beforeBytes, verified };
}

/** A file whose bytes are those that were published; one second try where they are not. */
async function fetchSound(
  ports: PullPorts,
  file: PlannedFile,
  part: string,
  tell: (doneBytes: number, totalBytes: number | null) => void,
  watcher: PullWatcher,
  signal: AbortSignal,
): Promise<{ readonly digest: FileDigest; readonly verified: boolean }> {
  for (let tries = 1;; tries++) {
    const { sha256 } = await downloadFile(ports, file, part, tell, signal);
    watcher.verifying();
    const unpaced = () => Promise.resolve();
    const digest = await digestFile(ports.files, part, unpaced, signal);
    if (sha256 === null || sha256 === digest.sha256) {
      await checkHeader(ports.files, part, digest.sizeBytes);
      return { digest, verified: sha256 !== null };
    }
    await dropPart(ports.files, part);
    if (tries === 2) {
      throw new Fault(
        "hub_failed",
        "The bytes that came do not have the SHA-256 that the source published",
      );
    }
  }
}

async function checkHeader(
  files: Files,
  part: string,
  sizeBytes: number,
): Promise<void> {
  const found = await inspectFile(files, part, sizeBytes);
  if (found.kind === "sound") return;
  await dropPart(files, part);
  throw new Fault("hub_failed", `What came is no model: ${found.reason}`);
}

function modelOf({ files }: PullPlan): string {
  const [model] = groupModelFiles(files.map(({ name }) => ({
    path: name,
    sizeBytes: 0,
    modifiedMs: null,
    identity: null,
  })));
  return model?.name ?? files[0].name;
}

function totalOf({ files }: PullPlan): number | null {
  let total = 0;
  for (const { sizeBytes } of files) {
    if (sizeBytes === null) return null;
    total += sizeBytes;
  }
  return total;
}

/** Whether the very bytes that the source publishes are offered already. */
async function isHere(
  { store }: PullPorts,
  plan: PullPlan,
  model: string,
): Promise<boolean> {
  const here = await store.manifest(model);
  return here?.files.length === plan.files.length &&
    plan.files.every(({ sha256 }, at) =>
      sha256 !== null && sha256 === here.files[at]?.sha256
    );
}

async function checkPlace(
  { files, store }: PullPorts,
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
    try {
      await files.stat(`${where}/${name}`);
    } catch (error) {
      if (error instanceof FileError && error.problem === "missing") continue;
      throw error;
    }
    throw new Fault(
      "conflict",
      `A file of the model ${quoted} lies here already and is no usable model: remove it first`,
    );
  }
}

function checkSpace(ports: PullPorts, totalBytes: number | null): void {
  const freeBytes = ports.freeDiskBytes();
  if (freeBytes === null || totalBytes === null) return;
  if (totalBytes + SPARE_BYTES <= freeBytes) return;
  const shown = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`;
  throw new Fault(
    "storage_failed",
    `The model has ${shown(totalBytes)}, and the disk has ${
      shown(freeBytes)
    } left: make room, or set COVEY_MODELS_DIR to another disk`,
  );
}

/** Make the folders one by one: a link among them would lead the model out of the models folder. */
async function makeFolders(
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
