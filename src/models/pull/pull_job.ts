import {
  type AllyProgress,
  Fault,
  type FileDigest,
  type FileOrigin,
  type Log,
  originTextOf,
  type PullAllies,
  type PullLease,
  type PullOutcome,
} from "../../domain/mod.ts";
import type { Files } from "../../platform/mod.ts";
import { digestFile } from "../digest_file.ts";
import { inspectFile } from "../model_inspection.ts";
import type { ModelStore } from "../model_store.ts";
import {
  downloadFile,
  type DownloadPorts,
  type Fetched,
  lookAtFile,
} from "./file_download.ts";
import { dropPart } from "./part_state.ts";
import {
  checkPlace,
  checkSpace,
  isHere,
  isThere,
  makeFolders,
  modelOf,
  type PlacePorts,
  totalOf,
} from "./pull_place.ts";
import { type PlannedFile, planPull, type PullPlan } from "./pull_plan.ts";
import type { PullSource } from "./pull_source.ts";
import { retry } from "./retry.ts";

const FOLDER_MODE = 0o755;

/** What a pull needs. */
export interface PullPorts extends DownloadPorts, PlacePorts {
  readonly store: Pick<
    ModelStore,
    | "adopt"
    | "digestNow"
    | "list"
    | "manifest"
    | "noteOrigins"
    | "refresh"
    | "remove"
  >;
  readonly log: Log;
  /** Members to ask before the source; null while there are none. */
  allies?(): PullAllies | null;
}

/** What to pull, and under which name it does so. */
export interface PullTask {
  readonly source: PullSource;
  /** Names the pull: one for all who ask for the same. */
  readonly id: string;
  /** Folders for partial files below the models folder, so that they lie on its disk. */
  readonly steps: readonly string[];
  /** Most bytes a second, or null for as many as go. */
  readonly maxBytesPerSecond: number | null;
}

/** Told of how far a pull is. */
export interface PullWatcher {
  planned(totalBytes: number | null): void;
  allied(progress: AllyProgress): void;
  downloading(doneBytes: number, totalBytes: number | null): void;
  verifying(): void;
  publishing(): void;
}

interface GotFile {
  readonly file: PlannedFile;
  readonly digest: FileDigest;
  readonly origin: FileOrigin;
}

/**
 * Fetch a model's files, check them and put them into the models folder, all of
 * them or none. Members are asked first: one that has the model gives it, one
 * that pulls it is waited for. A model that is here already with the published
 * bytes is done.
 *
 * @param ports What it needs.
 * @param task What to pull.
 * @param watcher Told of progress.
 * @param signal Aborting it ends the pull; partial files stay.
 * @throws {Fault} When it can not be pulled.
 * @throws {FileError} When it can not be written.
 */
export async function runPull(
  ports: PullPorts,
  task: PullTask,
  watcher: PullWatcher,
  signal: AbortSignal,
): Promise<PullOutcome> {
  const { files, modelsDir } = ports;
  const plan = await retry(
    ports,
    () => planPull(task.source, ports.http, signal),
    signal,
  );
  const where = [modelsDir, ...plan.folders].join("/");
  const model = modelOf(plan);
  if (await isHere(ports, plan, model)) {
    const sizeBytes = totalOf(plan.files) ?? 0;
    return { model, sizeBytes, verified: true, from: [] };
  }
  await checkPlace(ports, plan, where, model);
  await files.makeFolder(modelsDir, FOLDER_MODE);
  await makeFolders(files, modelsDir, task.steps);
  const total = totalOf(plan.files);
  checkSpace(ports, await comingBytes(ports, plan, where));
  watcher.planned(total);
  const allies = ports.allies?.() ?? null;
  if (allies === null) {
    return await fetchAll(ports, task, plan, null, watcher, signal);
  }
  const facts = await factsOf(ports, plan, signal);
  const pinned = originTextOf(facts.map(({ origin }) => origin));
  const turn = await allies.turn(
    {
      pull: task.id,
      key: await digestOf(pinned ?? `pull ${task.id}`),
      model,
      totalBytes: total,
      sha256s: facts.map(({ origin }) => origin.sha256),
      maxBytesPerSecond: task.maxBytesPerSecond,
    },
    (progress) => watcher.allied(progress),
    signal,
  );
  if (turn.kind === "fetch") {
    using lease = turn.lease;
    return await fetchAll(ports, task, plan, lease, watcher, signal);
  }
  watcher.verifying();
  const origins = facts.map(({ origin }) => origin);
  const digests = await ports.store.digestNow(turn.model, signal);
  if (!isPublished(digests, origins)) {
    ports.log.error(
      "What members gave is not what the source publishes; it is dropped, and fetched from the source",
      { model: turn.model, members: turn.from.join(", ") },
    );
    await ports.store.remove(turn.model);
    return await fetchAll(ports, task, plan, null, watcher, signal);
  }
  await ports.store.noteOrigins(turn.model, origins);
  const place = folderOf(ports, turn.model);
  await fetchProjector(ports, task, plan, place, signal);
  return {
    model: turn.model,
    sizeBytes: digests.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    verified: origins.every(({ sha256 }) => sha256 !== null),
    from: turn.from,
  };
}

/** The model's files, and its vision part where that is still to come. */
async function comingBytes(
  { files }: PullPorts,
  { files: planned, folders, projector }: PullPlan,
  where: string,
): Promise<number | null> {
  if (projector === null || folders.length === 0) return totalOf(planned);
  return await isThere(files, `${where}/${projector.name}`)
    ? totalOf(planned)
    : totalOf([...planned, projector]);
}

/** What is known of the files before they are fetched: a URL's server has to be asked. */
async function factsOf(
  ports: PullPorts,
  { files }: PullPlan,
  signal: AbortSignal,
): Promise<readonly { readonly origin: FileOrigin }[]> {
  const facts: { readonly origin: FileOrigin }[] = [];
  for (const file of files) {
    const fetched = file.origin.revision !== null || file.sha256 !== null
      ? { etag: null, sha256: file.sha256 }
      : await lookAtFile(ports, file, signal);
    facts.push({ origin: originOf(file, fetched) });
  }
  return facts;
}

async function fetchAll(
  ports: PullPorts,
  task: PullTask,
  plan: PullPlan,
  lease: PullLease | null,
  watcher: PullWatcher,
  signal: AbortSignal,
): Promise<PullOutcome> {
  const { files, modelsDir, store } = ports;
  const folder = [modelsDir, ...task.steps].join("/");
  const where = [modelsDir, ...plan.folders].join("/");
  const total = totalOf(plan.files);
  const got: GotFile[] = [];
  let beforeBytes = 0;
  let verified = true;
  for (const file of plan.files) {
    const startBytes = beforeBytes;
    const tell = (doneBytes: number, fileBytes: number | null) => {
      watcher.downloading(startBytes + doneBytes, total ?? fileBytes);
      lease?.tell(startBytes + doneBytes, total ?? fileBytes);
    };
    const part = `${folder}/${file.name}.part`;
    const one = await fetchSound(ports, file, part, tell, watcher, signal);
    verified &&= one.origin.sha256 !== null;
    beforeBytes += one.digest.sizeBytes;
    got.push({ file, ...one });
  }
  await fetchProjector(ports, task, plan, plan.folders, signal);
  watcher.publishing();
  await makeFolders(files, modelsDir, plan.folders);
  // The first part last: without it the others are no model yet.
  for (const { digest, file, origin } of got.toReversed()) {
    await files.rename(`${folder}/${file.name}.part`, `${where}/${file.name}`);
    await store.adopt(
      [...plan.folders, file.name].join("/"),
      digest,
      origin,
    );
  }
  await store.refresh();
  return { model: modelOf(plan), sizeBytes: beforeBytes, verified, from: [] };
}

/** The vision part is put beside the model, where it is not there already. */
async function fetchProjector(
  ports: PullPorts,
  task: PullTask,
  { projector }: PullPlan,
  folders: readonly string[] | null,
  signal: AbortSignal,
): Promise<void> {
  if (projector === null || folders === null || folders.length === 0) return;
  const { files, modelsDir } = ports;
  const path = [modelsDir, ...folders, projector.name].join("/");
  if (await isThere(files, path)) return;
  checkSpace(ports, projector.sizeBytes);
  const part = [modelsDir, ...task.steps, `${projector.name}.part`].join("/");
  await fetchSound(ports, projector, part, () => {}, null, signal);
  await makeFolders(files, modelsDir, folders);
  await files.rename(part, path);
}

/** Folders below the models folder that a model lies in; null where it is not offered. */
function folderOf(
  { modelsDir, store }: PullPorts,
  model: string,
): readonly string[] | null {
  const path = store.list().find(({ name }) => name === model)?.path;
  return path?.slice(modelsDir.length + 1).split("/").slice(0, -1) ?? null;
}

/** A file whose bytes are those that were published; one second try where they are not. */
async function fetchSound(
  ports: PullPorts,
  file: PlannedFile,
  part: string,
  tell: (doneBytes: number, totalBytes: number | null) => void,
  watcher: PullWatcher | null,
  signal: AbortSignal,
): Promise<{ readonly digest: FileDigest; readonly origin: FileOrigin }> {
  for (let tries = 1;; tries++) {
    const fetched = await downloadFile(ports, file, part, tell, signal);
    watcher?.verifying();
    const unpaced = () => Promise.resolve();
    const digest = await digestFile(ports.files, part, unpaced, signal);
    if (fetched.sha256 === null || fetched.sha256 === digest.sha256) {
      await checkHeader(ports.files, part, digest.sizeBytes);
      return { digest, origin: originOf(file, fetched) };
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

function originOf({ origin }: PlannedFile, fetched: Fetched): FileOrigin {
  return { ...origin, etag: fetched.etag, sha256: fetched.sha256 };
}

/** Whether bytes that came from members have every digest that the source published. */
function isPublished(
  digests: readonly FileDigest[],
  origins: readonly FileOrigin[],
): boolean {
  return digests.length === origins.length &&
    origins.every(({ sha256 }, at) =>
      sha256 === null || sha256 === digests[at]?.sha256
    );
}

async function digestOf(text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text);
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return new Uint8Array(digest).toHex();
}
