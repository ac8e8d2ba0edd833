import {
  type AllyProgress,
  type FileDigest,
  type FileOrigin,
  type Log,
  originTextOf,
  type PullAllies,
  type PullOutcome,
  type PullTurn,
} from "../../domain/mod.ts";
import type { ModelStore } from "../model_store.ts";
import {
  fetchAll,
  type FetchPorts,
  fetchProjector,
  type FetchTask,
  type FetchWatcher,
  originOf,
  partOf,
  publishRelayed,
} from "./fetch_files.ts";
import { lookAtFile } from "./file_download.ts";
import {
  checkPlace,
  checkSpace,
  isHere,
  isThere,
  makeFolders,
  modelOf,
  totalOf,
} from "./pull_place.ts";
import { PartFiles } from "./pull_parts.ts";
import { planPull, type PullPlan } from "./pull_plan.ts";
import type { PullSource } from "./pull_source.ts";
import { retry } from "./retry.ts";

const FOLDER_MODE = 0o755;

/** What a pull needs. */
export interface PullPorts extends FetchPorts {
  readonly store:
    & FetchPorts["store"]
    & Pick<ModelStore, "digestNow" | "noteOrigins" | "remove">;
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
export interface PullWatcher extends FetchWatcher {
  planned(totalBytes: number | null): void;
  allied(progress: AllyProgress): void;
}

interface FileFact {
  readonly origin: FileOrigin;
  /** Null where the source does not say. */
  readonly sizeBytes: number | null;
}

/**
 * Fetch a model's files, check them and put them into the models folder, all of
 * them or none. Members are asked first: one that has the model gives it, one
 * that pulls it gives what has come. A model that is here already with the
 * published bytes is done.
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
  checkSpace(ports, await comingBytes(ports, plan, where));
  watcher.planned(totalOf(plan.files));
  const allies = ports.allies?.() ?? null;
  const work = { plan, steps: task.steps, parts: null };
  if (allies === null) {
    return await fetchAll(ports, work, null, watcher, signal);
  }
  return await pullWithAllies(ports, task, work, allies, watcher, signal);
}

async function pullWithAllies(
  ports: PullPorts,
  task: PullTask,
  alone: FetchTask,
  allies: PullAllies,
  watcher: PullWatcher,
  signal: AbortSignal,
): Promise<PullOutcome> {
  const { plan } = alone;
  const facts = await factsOf(ports, plan, signal);
  const origins = facts.map(({ origin }) => origin);
  const parts = await openParts(ports, alone, facts);
  const work = { ...alone, parts };
  const want = {
    pull: task.id,
    key: await digestOf(originTextOf(origins) ?? `pull ${task.id}`),
    model: modelOf(plan),
    totalBytes: totalOf(plan.files),
    sha256s: origins.map(({ sha256 }) => sha256),
    parts,
    maxBytesPerSecond: task.maxBytesPerSecond,
  };
  for (let isDoubted = false;; isDoubted = true) {
    const needsRoot = isDoubted || want.sha256s.includes(null);
    const turn = await allies.turn(
      { ...want, needsRoot },
      (progress) => watcher.allied(progress),
      signal,
    );
    switch (turn.kind) {
      case "fetch": {
        using lease = turn.lease;
        return await fetchAll(ports, work, lease, watcher, signal);
      }
      case "copied": {
        const copied = await takeCopied(
          ports,
          work,
          turn,
          origins,
          watcher,
          signal,
        );
        if (copied !== null) return copied;
        return await fetchAll(ports, work, null, watcher, signal);
      }
      case "relayed": {
        using _lease = turn.lease;
        const relayed = await publishRelayed(
          ports,
          work,
          turn,
          origins,
          watcher,
          signal,
        );
        if (relayed !== null) return relayed;
        if (!isDoubted) break;
        sayOther(ports, want.model, turn.from);
        await parts?.dropRelayed();
        return await fetchAll(ports, work, null, watcher, signal);
      }
      default:
        return turn satisfies never;
    }
  }
}

/** Returns null where what members gave is not what the source publishes; it is removed then. */
async function takeCopied(
  ports: PullPorts,
  work: FetchTask,
  { from, model }: PullTurn & { readonly kind: "copied" },
  origins: readonly FileOrigin[],
  watcher: PullWatcher,
  signal: AbortSignal,
): Promise<PullOutcome | null> {
  watcher.verifying();
  const digests = await ports.store.digestNow(model, signal);
  if (!isPublished(digests, origins)) {
    sayOther(ports, model, from);
    await ports.store.remove(model);
    return null;
  }
  await ports.store.noteOrigins(model, origins);
  await fetchProjector(ports, work, folderOf(ports, model), signal);
  return {
    model,
    sizeBytes: digests.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    verified: origins.every(({ sha256 }) => sha256 !== null),
    from,
  };
}

function sayOther(
  { log }: PullPorts,
  model: string,
  from: readonly string[],
): void {
  log.error(
    "What members gave is not what the source publishes; it is dropped, and fetched from the source",
    { model, members: from.join(", ") },
  );
}

/** The partial files as members see them; null where the source does not say how long they will be. */
async function openParts(
  ports: PullPorts,
  task: FetchTask,
  facts: readonly FileFact[],
): Promise<PartFiles | null> {
  const { files: weights, folders, projector } = task.plan;
  const parts = weights.flatMap((file, at) => {
    const fact = facts[at];
    if (fact === undefined || !fact.sizeBytes) return [];
    const { origin: { etag, sha256 }, sizeBytes } = fact;
    return [{ path: partOf(ports, task, file), sizeBytes, etag, sha256 }];
  });
  if (parts.length < weights.length) return null;
  // Without a published digest the vision part is its source's to give.
  const isRelayed = projector !== null && folders.length > 0 &&
    projector.sha256 !== null && projector.sizeBytes !== null &&
    !await isThere(
      ports.files,
      [ports.modelsDir, ...folders, projector.name].join("/"),
    );
  if (isRelayed) {
    parts.push({
      path: partOf(ports, task, projector),
      sizeBytes: projector.sizeBytes ?? 0,
      etag: null,
      sha256: projector.sha256,
    });
  }
  return await PartFiles.open(ports.files, parts, weights.length);
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
): Promise<readonly FileFact[]> {
  const facts: FileFact[] = [];
  for (const file of files) {
    const { sha256, sizeBytes } = file;
    const fetched = file.origin.revision !== null || sha256 !== null
      ? { etag: null, sha256, sizeBytes }
      : await lookAtFile(ports, file, signal);
    const origin = originOf(file, fetched);
    facts.push({ origin, sizeBytes: sizeBytes ?? fetched.sizeBytes });
  }
  return facts;
}

/** Folders below the models folder that a model lies in; null where it is not offered. */
function folderOf(
  { modelsDir, store }: PullPorts,
  model: string,
): readonly string[] | null {
  const path = store.list().find(({ name }) => name === model)?.path;
  return path?.slice(modelsDir.length + 1).split("/").slice(0, -1) ?? null;
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
