import {
  type AllyProgress,
  Fault,
  type FileOrigin,
  type PullAllies,
  type PullOffer,
  type PullOutcome,
} from "../../domain/mod.ts";
import type { ModelStore } from "../model_store.ts";
import { chooseFiles } from "./choose_files.ts";
import { type PullSource, showPullSource } from "./pull_source.ts";

const COMMIT = /^[0-9a-f]{40,64}$/;
/** What a hub calls the state that is meant where none is named. */
const USUAL_REVISION = "main";

/** What getting a model without its source needs. */
export interface ElsewherePorts {
  readonly store: Pick<
    ModelStore,
    "digestNow" | "list" | "manifest" | "noteOrigins" | "remove"
  >;
  /** Null while there are no members. */
  readonly allies: PullAllies | null;
}

/** What is wanted, and by whom. */
export interface ElsewhereTask {
  readonly source: PullSource;
  /** Names the pull. */
  readonly id: string;
  /** Most bytes a second, or null for as many as go. */
  readonly maxBytesPerSecond: number | null;
}

/** Told of how far it is. */
export interface ElsewhereWatcher {
  planned(totalBytes: number | null): void;
  allied(progress: AllyProgress): void;
  verifying(): void;
  noted(note: string): void;
}

/**
 * Get a model whose source can not be reached from a member that has it from
 * there: which of them is chosen as it would be from the source's own list.
 *
 * @param ports What it needs.
 * @param task What is wanted.
 * @param watcher Told of progress.
 * @param signal Aborting it ends the pull.
 * @returns Null where neither this node nor a member has it from there.
 * @throws {Fault} When members have other models of that source alone, or an operator cancelled the copy.
 */
export async function pullElsewhere(
  { allies, store }: ElsewherePorts,
  task: ElsewhereTask,
  watcher: ElsewhereWatcher,
  signal: AbortSignal,
): Promise<PullOutcome | null> {
  const { id, maxBytesPerSecond, source } = task;
  watcher.noted(
    `${showPullSource(source)} can not be reached: members are asked for it`,
  );
  const own = await ownOffers(store, source);
  const others = await allies?.offers?.(sourceTextOf(source), signal) ?? [];
  const offer = chooseOffer([...own, ...others], source);
  if (offer === null) return null;
  const origins = offer.files.map(({ origin }) => origin);
  const note = noteOf(source, origins);
  const { root, sizeBytes } = offer;
  const verified = origins.every(({ sha256 }) => sha256 !== null);
  const here = store.list().find((one) => one.root === root);
  if (here !== undefined) {
    return { model: here.name, sizeBytes, verified, from: [], note };
  }
  watcher.planned(sizeBytes);
  watcher.noted(note);
  const copied = await allies?.copy?.(
    { pull: id, root, model: offer.model, sizeBytes, maxBytesPerSecond },
    (progress) => watcher.allied(progress),
    signal,
  );
  if (copied === undefined || copied === null) return null;
  watcher.verifying();
  const digests = await store.digestNow(copied.model, signal);
  const isOffered = digests.length === origins.length &&
    origins.every(({ sha256 }, at) =>
      sha256 === null || sha256 === digests[at]?.sha256
    );
  if (!isOffered) {
    await store.remove(copied.model);
    throw new Fault(
      "hub_failed",
      "The source can not be reached, and what members gave is not what they say it published: it was dropped",
    );
  }
  await store.noteOrigins(copied.model, origins);
  return { model: copied.model, sizeBytes, verified, from: copied.from, note };
}

/** What of a source lies here, as a member would offer it. */
async function ownOffers(
  store: ElsewherePorts["store"],
  source: PullSource,
): Promise<readonly PullOffer[]> {
  const text = sourceTextOf(source);
  const offers: PullOffer[] = [];
  for (const { name, root } of store.list()) {
    const manifest = root === null ? null : await store.manifest(name);
    if (manifest === null) continue;
    const files = manifest.files.flatMap(({ origin, sizeBytes }) =>
      origin?.source === text && !origin.derived ? [{ origin, sizeBytes }] : []
    );
    if (files.length < manifest.files.length) continue;
    const sizeBytes = files.reduce((sum, one) => sum + one.sizeBytes, 0);
    offers.push({
      model: name,
      root: manifest.root,
      sizeBytes,
      files,
      members: 1,
    });
  }
  return offers;
}

/**
 * Choose among what members have of one source.
 *
 * @param offers What they have.
 * @param source What is wanted of it.
 * @returns Null where there is nothing of the state that is wanted.
 * @throws {Fault} `not_found`, naming what there is, when the choice is not among it.
 */
export function chooseOffer(
  offers: readonly PullOffer[],
  source: PullSource,
): PullOffer | null {
  const wanted = offers.filter(({ files }) => isOf(files, source));
  const states = Map.groupBy(wanted, stateOf);
  const choice = source.kind === "hub" ? source.choice : null;
  const found: PullOffer[] = [];
  let missing: unknown = null;
  for (const one of states.values()) {
    try {
      const chosen = source.kind === "url" ? one : chosenOf(one, choice);
      found.push(...chosen);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      missing ??= error;
    }
  }
  // Nobody can ask which state is the newest: what most members have is taken.
  const members = Map.groupBy(found, ({ root }) => root);
  const [best] = [...members.values()].map((same) => ({
    members: same.reduce((sum, one) => sum + one.members, 0),
    offer: same[0],
  })).sort((a, b) =>
    b.members - a.members ||
    (`${a.offer?.root}` < `${b.offer?.root}` ? -1 : 1)
  );
  if (best?.offer !== undefined) return best.offer;
  if (missing !== null) throw missing;
  return null;
}

/** Those of one state that consist of the files that would be chosen of all its files. */
function chosenOf(
  offers: readonly PullOffer[],
  choice: string | null,
): readonly PullOffer[] {
  const files = new Map(
    offers.flatMap(({ files }) =>
      files.map(({ origin: { path, sha256 }, sizeBytes }) =>
        [`${path}`, { path: `${path}`, sizeBytes, sha256 }] as const
      )
    ),
  );
  const chosen = chooseFiles([...files.values()], choice);
  return offers.filter((one) =>
    one.files.length === chosen.length &&
    one.files.every(({ origin }, at) => origin.path === chosen[at]?.path)
  );
}

function isOf(files: PullOffer["files"], source: PullSource): boolean {
  const text = sourceTextOf(source);
  if (files.length === 0) return false;
  if (files.some(({ origin }) => origin.source !== text)) return false;
  if (source.kind === "url") return files.length === 1;
  if (files.some(({ origin }) => origin.path === null)) return false;
  const { revision } = source;
  // Which commit another branch or tag stands for is known to the hub alone.
  return revision === USUAL_REVISION ||
    (COMMIT.test(revision) &&
      files.every(({ origin }) => origin.revision === revision));
}

function stateOf({ files }: PullOffer): string {
  return JSON.stringify(files.map(({ origin }) => origin.revision)[0] ?? null);
}

/** A source as origins name it. */
function sourceTextOf(source: PullSource): string {
  return source.kind === "hub"
    ? source.repo
    : `${source.url.origin}${source.url.pathname}`;
}

function noteOf(source: PullSource, origins: readonly FileOrigin[]): string {
  const at = origins[0]?.revision?.slice(0, 12) ?? null;
  const state = at === null ? "" : ` of commit ${at}`;
  return `${
    showPullSource(source)
  } can not be reached: this is what members had of it${state}`;
}
