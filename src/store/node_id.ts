import { type NodeId, parseNodeId } from "../domain/mod.ts";
import { type Entropy, FileError, type Files } from "../platform/mod.ts";

/** What the node id's file holds. */
const FORM = /^\{\s*"id"\s*:\s*"([0-9a-f-]{36})"\s*\}\s*$/;

/** The node id's file is there and says nothing sound. */
export class NodeIdError extends Error {
  override readonly name = "NodeIdError";
}

/**
 * Read this node's id, or draw one at the first start.
 *
 * A file that holds anything but an id, as a power cut may leave it, is never
 * replaced: the node would silently become another member.
 *
 * @param files Where the file lies.
 * @param entropy Draws the id.
 * @param dataDir The node's data folder, which must exist.
 * @returns The id.
 * @throws {NodeIdError} When the file is there and unsound.
 * @throws {FileError} When it can be neither read nor written.
 */
export async function loadNodeId(
  files: Files,
  entropy: Entropy,
  dataDir: string,
): Promise<NodeId> {
  const path = `${dataDir}/node.json`;
  let text: string;
  try {
    text = await files.readText(path);
  } catch (error) {
    if (!(error instanceof FileError && error.problem === "missing")) {
      throw error;
    }
    const id = parseNodeId(entropy.uuid());
    if (id === undefined) throw new TypeError("Entropy drew no UUID");
    await files.writeAtomic(path, `{"id":"${id}"}\n`, 0o600);
    return id;
  }
  const id = parseNodeId(FORM.exec(text)?.[1] ?? "");
  if (id !== undefined) return id;
  throw new NodeIdError(
    `Failed to read the node's id: "${path}" holds no id; restore it from a backup, or delete it to start as a new node that its cluster does not know`,
  );
}
