import { StartError } from "./api/mod.ts";
import { LOCK_FILE, type NodeId } from "./domain/mod.ts";
import type { NodeOptions } from "./node_options.ts";
import {
  explainDenial,
  FEWEST_DESCRIPTORS,
  FileError,
  type Platform,
  readDescriptorLimit,
} from "./platform/mod.ts";
import {
  type ClientKeys,
  ClientKeysError,
  loadClientKeys,
} from "./store/client_keys.ts";
import { loadNodeId, NodeIdError } from "./store/node_id.ts";

/**
 * A node that runs out of descriptors fails in the middle of its work, so it
 * does not begin.
 *
 * @throws {StartError} When there are too few.
 */
export async function checkDescriptors({ files }: Platform): Promise<void> {
  const limit = await readDescriptorLimit(files);
  if (limit === null || limit >= FEWEST_DESCRIPTORS) return;
  throw new StartError(
    `Cannot start with ${limit} file descriptors: ${FEWEST_DESCRIPTORS} are needed; run \`ulimit -n ${FEWEST_DESCRIPTORS}\` first, or set LimitNOFILE=${FEWEST_DESCRIPTORS} in its service`,
  );
}

/**
 * Make the data folder and read the node's id and its clients' keys in it.
 *
 * @returns The lock is the caller's to dispose: one process holds a data folder.
 * @throws {StartError} When the folder or what lies in it can not be used.
 */
export async function openDataFolder(
  { clusterCode, config, log, platform, userId }: NodeOptions,
): Promise<
  {
    readonly id: NodeId;
    readonly lock: Disposable;
    readonly clientKeys: ClientKeys;
  }
> {
  const { dataDir } = config;
  const { clock, entropy, files } = platform;
  try {
    await files.makeFolder(dataDir, 0o700);
    await using stack = new AsyncDisposableStack();
    const lock = stack.use(await files.lock(`${dataDir}/${LOCK_FILE}`));
    if (lock === null) {
      throw new StartError(
        `Another node runs on the data folder "${dataDir}"; stop it, or set COVEY_DATA_DIR to another folder`,
      );
    }
    const inCluster = config.cluster.secret !== null ||
      await clusterCode?.resumesCluster(files, `${dataDir}/cluster`);
    if (inCluster) await clusterCode?.settleIdentity?.(files, dataDir, log);
    const id = await loadNodeId(files, entropy, dataDir);
    const clientKeys = await loadClientKeys({
      files,
      entropy,
      nowMs: () => clock.now(),
      dataDir,
    });
    stack.move();
    return { id, lock, clientKeys };
  } catch (error) {
    if (error instanceof FileError) {
      const said = await explainDenial(files, error, userId ?? null);
      const remedy = error.problem === "full"
        ? "make room there, or set COVEY_DATA_DIR to another disk"
        : "set COVEY_DATA_DIR to a folder that this user can write";
      throw new StartError(
        `${said}; ${remedy}`,
        { cause: error, denied: error.problem === "denied" },
      );
    }
    if (error instanceof NodeIdError || error instanceof ClientKeysError) {
      throw new StartError(error.message);
    }
    throw error;
  }
}
