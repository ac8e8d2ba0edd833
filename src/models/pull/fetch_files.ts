import {
  Fault,
  type FileDigest,
  type FileOrigin,
  type PullLease,
  type PullOutcome,
} from "../../domain/mod.ts";
import type { Files } from "../../platform/mod.ts";
import { digestFile } from "../digest_file.ts";
import { rootOf } from "../manifest.ts";
import { inspectFile } from "../model_inspection.ts";
import type { ModelStore } from "../model_store.ts";
import {
  downloadFile,
  type DownloadPorts,
  type DownloadWatch,
  type Fetched,
} from "./file_download.ts";
import { dropPart, dropRelayed } from "./part_state.ts";
import {
  checkPlace,
  checkSpace,
  isThere,
  makeFolders,
  modelOf,
  type PlacePorts,
  totalOf,
} from "./pull_place.ts";
import type { PartFiles } from "./pull_parts.ts";
import type { PlannedFile, PullPlan } from "./pull_plan.ts";

/** What fetching a model's files needs. */
export interface FetchPorts extends DownloadPorts, PlacePorts {
  readonly store: Pick<
    ModelStore,
    "adopt" | "list" | "manifest" | "refresh"
  >;
}

/** Told of how far the files are. */
export interface FetchWatcher {
  downloading(doneBytes: number, totalBytes: number | null): void;
  verifying(): void;
  publishing(): void;
}

/** What is fetched, and where to. */
export interface FetchTask {
  readonly plan: PullPlan;
  /** Folders for partial files below the models folder. */
  readonly steps: readonly string[];
  /** The partial files as members see them, or null. */
  readonly parts: PartFiles | null;
}

interface GotFile {
  readonly file: PlannedFile;
  readonly digest: FileDigest;
  readonly origin: FileOrigin;
}

/**
 * Fetch a model's files from their source, check them and put them into the
 * models folder, all of them or none.
 *
 * @param ports What it needs.
 * @param task What is fetched.
 * @param lease The right to do so, where members were asked.
 * @param watcher Told of progress.
 * @param signal Aborting it ends the work; partial files stay.
 * @throws {Fault} When they can not be fetched, or are not what was published.
 * @throws {FileError} When they can not be written.
 */
export async function fetchAll(
  ports: FetchPorts,
  task: FetchTask,
  lease: PullLease | null,
  watcher: FetchWatcher,
  signal: AbortSignal,
): Promise<PullOutcome> {
  const { parts, plan } = task;
  const total = totalOf(plan.files);
  const got: GotFile[] = [];
  let beforeBytes = 0;
  for (const [at, file] of plan.files.entries()) {
    const startBytes = beforeBytes;
    const watch: DownloadWatch = {
      tell(doneBytes, fileBytes) {
        watcher.downloading(startBytes + doneBytes, total ?? fileBytes);
        lease?.tell(startBytes + doneBytes, total ?? fileBytes);
      },
      ...parts?.watch(at),
    };
    const part = partOf(ports, task, file);
    const one = await fetchSound(ports, file, part, watch, watcher, signal);
    beforeBytes += one.digest.sizeBytes;
    got.push({ file, ...one });
  }
  await fetchProjector(ports, task, plan.folders, signal);
  return await publish(ports, task, got, [], watcher);
}

/**
 * Put what members gave into the models folder, where it is what the source
 * published, or what the root of a finished model says.
 *
 * @param ports What it needs.
 * @param task What was wanted; its files lie in their places.
 * @param given What members say: the root of a finished model or null, and who they are.
 * @param origins Where the files are from, first part first.
 * @param watcher Told of progress.
 * @param signal Aborting it ends the work; partial files stay.
 * @returns Null where it is not; the files stay as they are.
 * @throws {Fault} When it is what was published, and no model.
 * @throws {FileError} When the files can not be read or moved.
 */
export async function publishRelayed(
  ports: FetchPorts,
  task: FetchTask,
  given: { readonly root: string | null; readonly from: readonly string[] },
  origins: readonly FileOrigin[],
  watcher: FetchWatcher,
  signal: AbortSignal,
): Promise<PullOutcome | null> {
  watcher.verifying();
  const got: GotFile[] = [];
  for (const [at, file] of task.plan.files.entries()) {
    const origin = origins[at];
    const part = partOf(ports, task, file);
    const digest = await digestFile(ports.files, part, unpaced, signal);
    if (origin === undefined) return null;
    if (origin.sha256 !== null && origin.sha256 !== digest.sha256) return null;
    got.push({ file, digest, origin });
  }
  const isPublished = origins.every(({ sha256 }) => sha256 !== null);
  if (!isPublished) {
    const root = await rootOf(got.map(({ digest }) => digest));
    if (root !== given.root) return null;
  }
  for (const { digest, file } of got) {
    const part = partOf(ports, task, file);
    await checkHeader(ports.files, part, digest.sizeBytes);
  }
  await fetchProjector(ports, task, task.plan.folders, signal);
  return await publish(ports, task, got, given.from, watcher);
}

async function publish(
  ports: FetchPorts,
  task: FetchTask,
  got: readonly GotFile[],
  from: readonly string[],
  watcher: FetchWatcher,
): Promise<PullOutcome> {
  const { files, modelsDir, store } = ports;
  const { folders } = task.plan;
  const model = modelOf(task.plan);
  const outcome = {
    model,
    sizeBytes: got.reduce((sum, { digest }) => sum + digest.sizeBytes, 0),
    verified: got.every(({ origin }) => origin.sha256 !== null),
    from,
  };
  watcher.publishing();
  await store.refresh();
  if (await isSame(store, model, got)) return outcome;
  // Hours may have passed since it was looked at.
  const where = [modelsDir, ...folders].join("/");
  await checkPlace(ports, task.plan, where, model);
  await makeFolders(files, modelsDir, folders);
  // The first part last: without it the others are no model yet.
  for (const { digest, file, origin } of got.toReversed()) {
    const path = [...folders, file.name].join("/");
    await files.rename(partOf(ports, task, file), `${modelsDir}/${path}`);
    await store.adopt(path, digest, origin);
  }
  await store.refresh();
  return outcome;
}

/** Whether a model of that name has come with the very bytes meanwhile: by another name of its source, say. */
async function isSame(
  store: FetchPorts["store"],
  model: string,
  got: readonly GotFile[],
): Promise<boolean> {
  const here = (await store.manifest(model))?.files ?? [];
  return here.length === got.length &&
    got.every(({ digest }, at) => digest.sha256 === here[at]?.sha256);
}

/**
 * Put the vision part beside the model, where it is not there already as it was
 * published.
 *
 * @param ports What it needs.
 * @param task What is pulled.
 * @param folders Where the model lies, or is to lie; null for nowhere.
 * @param signal Aborting it ends the work.
 * @throws {Fault} When it can not be fetched, or is not what was published.
 * @throws {FileError} When it can not be written.
 */
export async function fetchProjector(
  ports: FetchPorts,
  task: FetchTask,
  folders: readonly string[] | null,
  signal: AbortSignal,
): Promise<void> {
  const { parts, plan: { files: weights, projector } } = task;
  if (projector === null || folders === null || folders.length === 0) return;
  const { files, modelsDir, store } = ports;
  const path = [...folders, projector.name].join("/");
  if (await isThere(files, `${modelsDir}/${path}`)) return;
  checkSpace(ports, projector.sizeBytes);
  const part = partOf(ports, task, projector);
  const watch = { tell() {}, ...parts?.watch(weights.length) };
  const { digest, origin } = await fetchSound(
    ports,
    projector,
    part,
    watch,
    null,
    signal,
  );
  await makeFolders(files, modelsDir, folders);
  await files.rename(part, `${modelsDir}/${path}`);
  await store.adopt(path, digest, origin);
}

/** A file whose bytes are those that were published; one second try where they are not. */
async function fetchSound(
  ports: FetchPorts,
  file: PlannedFile,
  part: string,
  watch: DownloadWatch,
  watcher: FetchWatcher | null,
  signal: AbortSignal,
): Promise<{ readonly digest: FileDigest; readonly origin: FileOrigin }> {
  for (let tries = 1;;) {
    const fetched = await downloadFile(ports, file, part, watch, signal);
    watcher?.verifying();
    const digest = await digestFile(ports.files, part, unpaced, signal);
    if (fetched.sha256 === null || fetched.sha256 === digest.sha256) {
      await checkHeader(ports.files, part, digest.sizeBytes);
      return { digest, origin: originOf(file, fetched) };
    }
    watch.dropped?.();
    // What members gave is the first to be wrong: the source's own bytes stay.
    if (await dropRelayed(ports.files, part)) continue;
    await dropPart(ports.files, part);
    if (tries++ === 2) {
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

/**
 * Where a file is from, with what its source said of it.
 *
 * @param file The file.
 * @param fetched What was found out.
 */
export function originOf(
  { origin }: PlannedFile,
  { etag, sha256 }: Fetched,
): FileOrigin {
  return { ...origin, etag, sha256 };
}

/**
 * Path of a file until it is published.
 *
 * @param ports Where models lie.
 * @param task What is fetched.
 * @param file The file.
 */
export function partOf(
  { modelsDir }: Pick<FetchPorts, "modelsDir">,
  { steps }: Pick<FetchTask, "steps">,
  { name }: PlannedFile,
): string {
  return [modelsDir, ...steps, `${name}.part`].join("/");
}

function unpaced(): Promise<void> {
  return Promise.resolve();
}
