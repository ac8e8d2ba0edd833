/**
 * Writes a node's identity again and again, for a test that kills it: each
 * turn the machine is another one, so that the file is written anew.
 *
 * @module
 */
import { loadIdentity } from "../../ee/src/identity/node_identity.ts";
import { createLog } from "../../src/observe/log.ts";
import {
  createDenoFiles,
  createSystemEntropy,
} from "../../src/platform/mod.ts";
import { loadNodeId } from "../../src/store/node_id.ts";

if (import.meta.main) {
  const [folder = ""] = Deno.args;
  const entropy = createSystemEntropy();
  const files = createDenoFiles(() => entropy.uuid().slice(0, 8));
  const log = createLog({
    level: "error",
    format: "text",
    now: () => 0,
    write: (line) => {
      throw new Error(line);
    },
  });
  const nodeId = await loadNodeId(files, entropy, folder);
  for (let turn = 0;; turn++) {
    const { id, keyHash } = await loadIdentity({
      files,
      entropy,
      log,
      nodeId,
      stateDir: folder,
      machine: { board: `board ${turn}`, machineId: null, macs: [] },
    });
    if (turn > 0) continue;
    Deno.stdout.writeSync(new TextEncoder().encode(`${id} ${keyHash}\n`));
  }
}
