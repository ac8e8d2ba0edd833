import { type Files, ifThere } from "@covey/core/platform";

/** Name of the file that says by what this node is in a cluster, in the cluster's folder. */
export const STANDING_FILE = "standing.json";

/**
 * Tell whether a node without a secret is in a cluster all the same: admitted
 * by invitation, or the founder of one. The file's being there says it; what is
 * in it is read when the cluster opens.
 *
 * @param files Where it is looked up.
 * @param stateDir Folder of the cluster's state.
 */
export async function resumesCluster(
  files: Files,
  stateDir: string,
): Promise<boolean> {
  const text = await ifThere(files.readText(`${stateDir}/${STANDING_FILE}`));
  return text !== null;
}
