import type { Log } from "@covey/core/domain";
import { FileError, type Files, ifThere } from "@covey/core/platform";
import {
  machineChange,
  type MachineFacts,
  markMachine,
  readMachineFacts,
} from "./machine_facts.ts";

const MOST_SETS = 1000;

/**
 * Put a node's identity and all that it knows of clusters aside, so that its
 * next start makes it a new node. Nothing is deleted. Done again after a kill
 * in between, it ends the same way.
 *
 * @param files The file system.
 * @param dataDir The node's data folder; no node may run on it.
 * @returns The folder where everything is now.
 * @throws {FileError} When a file can not be moved.
 */
export async function setIdentityAside(
  files: Files,
  dataDir: string,
): Promise<string> {
  const clusterDir = `${dataDir}/cluster`;
  await files.makeFolder(clusterDir, 0o700);
  // The id goes first: what is left without it is never taken for another's.
  if (await isThere(files, `${dataDir}/node.json`)) {
    await files.rename(`${dataDir}/node.json`, `${clusterDir}/node.json`);
  }
  const entries = new Set((await files.list(dataDir)).map(({ name }) => name));
  for (let n = 1; n <= MOST_SETS; n++) {
    const name = `cluster.old-${n}`;
    if (entries.has(name)) continue;
    await files.rename(clusterDir, `${dataDir}/${name}`);
    return `${dataDir}/${name}`;
  }
  throw new FileError("exists", `${clusterDir}.old-${MOST_SETS}`, "make", null);
}

/**
 * Before a node of a cluster starts: if its key has come to another machine,
 * as on a copied or moved disk, put the identity aside, so that this machine
 * becomes a member of its own. A file that cannot be read is left to whoever
 * loads the identity, who names it.
 *
 * @param options Files, the data folder, where to log, and the machine.
 */
export async function settleIdentity(
  { dataDir, files, log, machine }: {
    readonly files: Files;
    readonly dataDir: string;
    readonly log: Log;
    /** Read from the system when absent. */
    readonly machine?: MachineFacts;
  },
): Promise<void> {
  const kept = await readKept(files, `${dataDir}/cluster/identity.json`);
  if (kept === null) return;
  const facts = machine ?? await readMachineFacts(files);
  const change = machineChange(
    { board: kept.board, macs: kept.macs },
    markMachine(facts, kept.keyHash),
  );
  if (change === null) return;
  const aside = await setIdentityAside(files, dataDir);
  log.warn(
    `The ${change} of this machine is another one than that beside the node's key, as after copying a disk: this node starts with a new identity`,
    { aside },
  );
}

async function readKept(files: Files, path: string) {
  const text = await ifThere(files.readText(path));
  if (text === null) return null;
  const { z } = await import("zod");
  const schema = z.object({
    keyHash: z.string(),
    machine: z.object({
      board: z.string().nullable(),
      macs: z.array(z.string()),
    }),
  });
  try {
    const parsed = schema.safeParse(JSON.parse(text)).data;
    return parsed === undefined
      ? null
      : { keyHash: parsed.keyHash, ...parsed.machine };
  } catch {
    // Torn or garbled: loading the identity says so and names the file.
    return null;
  }
}

async function isThere(files: Files, path: string): Promise<boolean> {
  return await ifThere(files.stat(path)) !== null;
}
