import type { Log, ModelShelf } from "@covey/core/domain";
import type { Files } from "@covey/core/platform";
import type { CopyAsk } from "./copy_view.ts";
import { writeKeptAsk } from "./kept_ask.ts";
import { PartStore } from "./part_store.ts";

/** What copying along needs. */
export interface AlongMeans {
  readonly shelf: ModelShelf;
  readonly files: Files;
  readonly log: Log;
}

/** The folder of a model. */
export interface ModelFolder {
  readonly path: string;
  /** Root of the model. */
  readonly root: string;
}

/** Where what goes with a model is to lie. */
export type AlongPlace =
  | {
    readonly kind: "folder";
    readonly folder: ModelFolder;
    /** Name the model is offered under. */
    readonly model: string;
  }
  /** It is there already. */
  | { readonly kind: "there" }
  | { readonly kind: "nowhere"; readonly reason: string };

/**
 * Say where what goes with a model is to lie, once the model is here.
 *
 * @param means What it needs.
 * @param copied Name and root of the model as it lies here, and root of what goes with it.
 * @throws {FileError} When that can not be told.
 */
export async function placeAlong(
  { files, shelf }: AlongMeans,
  { companions, model: name, root }: {
    readonly model: string;
    readonly root: string;
    readonly companions: string;
  },
): Promise<AlongPlace> {
  const model = shelf.list().find((one) => one.name === name);
  const here = model === undefined
    ? null
    : await shelf.companions?.(model.name) ?? null;
  const path = model?.path.slice(0, model.path.lastIndexOf("/"));
  const reason = path === undefined
    ? "What goes with it is not copied: the model is gone"
    : path === shelf.folder
    ? "What goes with it is not copied: the model lies in no folder of its own"
    : here !== null && here.root !== companions
    ? "What goes with it is not copied: something else of that kind lies with it here"
    : null;
  if (model === undefined || path === undefined || reason !== null) {
    await PartStore.remove(files, shelf.folder, companions);
    return { kind: "nowhere", reason: reason ?? "" };
  }
  if (here !== null) {
    await PartStore.remove(files, shelf.folder, companions);
    return { kind: "there" };
  }
  return { kind: "folder", folder: { path, root }, model: model.name };
}

/**
 * Remember what goes with a model before that is published: a process that ends
 * right after goes on with it.
 *
 * @param means What it needs.
 * @param ask The copy of the model.
 * @throws {FileError} When it can not be written.
 */
export async function keepAlong(
  { files, shelf }: AlongMeans,
  { bytesPerSecond, companions, model, root }: CopyAsk,
): Promise<void> {
  if (companions === undefined) return;
  await writeKeptAsk(files, shelf.folder, companions, {
    model,
    bytesPerSecond,
    paused: false,
    of: root,
  });
}

/**
 * Remove what has come of a copy, and of what goes with it.
 *
 * @param means What it needs.
 * @param ask The copy.
 */
export async function removeParts(
  { files, log, shelf }: AlongMeans,
  { companions, root }: Pick<CopyAsk, "companions" | "root">,
): Promise<void> {
  try {
    await PartStore.remove(files, shelf.folder, root);
    if (companions === undefined) return;
    await PartStore.remove(files, shelf.folder, companions);
  } catch (error) {
    log.warn("Failed to remove what had come of a copy", {
      reason: error instanceof Error ? error.message : "It failed",
    });
  }
}
