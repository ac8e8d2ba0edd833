import { ifThere } from "../../platform/mod.ts";
import { type FetchPorts, partOf } from "./fetch_files.ts";
import { placedPartState } from "./part_state.ts";
import { modelOf } from "./pull_place.ts";
import type { PullPlan } from "./pull_plan.ts";

/** What taking back needs. */
export type TakeBackPorts = Pick<FetchPorts, "files" | "modelsDir" | "store">;

/**
 * Undo a publishing of several parts that was cut short: those that have their
 * names already become partial files again. Without it they would be in the way
 * of the very pull that put them there.
 *
 * @param ports What it needs.
 * @param plan What is pulled.
 * @param steps Folders for partial files below the models folder.
 * @throws {FileError} When one can not be looked at or moved.
 */
export async function takeBack(
  { files, modelsDir, store }: TakeBackPorts,
  plan: PullPlan,
  steps: readonly string[],
): Promise<void> {
  const placed: { readonly part: string; readonly place: string }[] = [];
  for (const file of plan.files) {
    const part = partOf({ modelsDir }, { steps }, file);
    const place = [modelsDir, ...plan.folders, file.name].join("/");
    const stat = await ifThere(files.stat(place));
    const state = await placedPartState(files, part);
    if (stat === null || stat.sizeBytes !== state?.sizeBytes) continue;
    placed.push({ part, place });
  }
  if (placed.length === 0) return;
  await store.refresh();
  // All of them are there: it was not cut short.
  if (store.list().some(({ name }) => name === modelOf(plan))) return;
  for (const { part, place } of placed) await files.rename(place, part);
}
