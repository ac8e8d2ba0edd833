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
import { digestFile } from "../digest_file.ts";
import type { ModelStore } from "../model_store.ts";
import {
  fetchAll,
  type FetchPorts,
  fetchProjector,
  type FetchTask,
  type FetchWatcher,
  partOf,
  publishRelayed,
} from "./fetch_files.ts";
import { isThere, modelOf, totalOf } from "./pull_place.ts";
import { PartFiles } from "./pull_parts.ts";

/** What a pull with members needs. */
export interface AllyPorts extends FetchPorts {
  readonly store:
    & FetchPorts["store"]
    & Pick<ModelStore, "digestNow" | "noteOrigins" | "remove">;
  readonly log: Log;
}

/** Told of how far a pull with members is. */
export interface AllyWatcher extends FetchWatcher {
  allied(progress: AllyProgress): void;
}

/** Who pulls. */
export interface AllyTask {
  /** Names the pull: one for all who ask for the same. */
  readonly id: string;
  /** Most bytes a second, or null for as many as go. */
  readonly maxBytesPerSecond: number | null;
}

/** What the source says of a file before it is fetched. */
export interface FileFact {
  readonly origin: FileOrigin;
  /** Null where the source does not say. */
  readonly sizeBytes: number | null;
}

/**
 * Have a model from members, or fetch it for all of them.
 *
 * @param ports What it needs.
 * @param task Who pulls.
 * @param alone What is fetched.
 * @param facts What the source says of its files, first part first.
 * @param allies The members.
 * @param watcher Told of progress.
 * @param signal Aborting it ends the pull; partial files stay.
 * @throws {Fault} When it can not be pulled.
 * @throws {FileError} When it can not be written.
 */
export async function pullWithAllies(
  ports: AllyPorts,
  task: AllyTask,
  alone: FetchTask,
  facts: readonly FileFact[],
  allies: PullAllies,
  watcher: AllyWatcher,
  signal: AbortSignal,
): Promise<PullOutcome> {
  const { plan } = alone;
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
  ports: AllyPorts,
  work: FetchTask,
  { from, model }: PullTurn & { readonly kind: "copied" },
  origins: readonly FileOrigin[],
  watcher: AllyWatcher,
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
  const folders = folderOf(ports, model);
  if (from.length > 0) await checkProjector(ports, work, folders, signal);
  await fetchProjector(ports, work, folders, signal);
  return {
    model,
    sizeBytes: digests.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    verified: origins.every(({ sha256 }) => sha256 !== null),
    from,
  };
}

/** A vision part that came from members counts only if it is the published one. */
async function checkProjector(
  { files, log, modelsDir }: AllyPorts,
  { plan: { projector } }: FetchTask,
  folders: readonly string[] | null,
  signal: AbortSignal,
): Promise<void> {
  const sha256 = projector?.sha256 ?? null;
  if (projector === null || folders === null || sha256 === null) return;
  const path = [modelsDir, ...folders, projector.name].join("/");
  if (!await isThere(files, path)) return;
  const digest = await digestFile(
    files,
    path,
    () => Promise.resolve(),
    signal,
  );
  if (digest.sha256 === sha256) return;
  log.error(
    "The vision part that members gave is not what the source publishes; it is dropped, and fetched from the source",
    { model: projector.name },
  );
  await files.remove(path);
}

function sayOther(
  { log }: AllyPorts,
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
  ports: AllyPorts,
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

/** Folders below the models folder that a model lies in; null where it is not offered. */
function folderOf(
  { modelsDir, store }: AllyPorts,
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
