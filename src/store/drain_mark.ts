import { type Files, ifThere } from "../platform/mod.ts";

const MARK = "draining";
const MODE = 0o600;
const TEXT =
  "This node takes no more work until `covey undrain`, also after a restart.\n";

/**
 * Whether the operator has this node drained, as the data folder keeps it.
 *
 * @param files Where it lies.
 * @param dataDir Folder of the node's state.
 * @throws {FileError} When that can not be seen.
 */
export async function isMarkedDraining(
  files: Pick<Files, "stat">,
  dataDir: string,
): Promise<boolean> {
  return await ifThere(files.stat(`${dataDir}/${MARK}`)) !== null;
}

/**
 * Keep whether this node is drained.
 *
 * @param files Where it lies.
 * @param dataDir Folder of the node's state.
 * @param draining Whether it is.
 * @throws {FileError} When it can not be kept.
 */
export async function markDraining(
  files: Pick<Files, "remove" | "writeAtomic">,
  dataDir: string,
  draining: boolean,
): Promise<void> {
  const path = `${dataDir}/${MARK}`;
  if (draining) await files.writeAtomic(path, TEXT, MODE);
  else await files.remove(path);
}
