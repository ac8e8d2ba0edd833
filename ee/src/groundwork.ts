import type { Host } from "@covey/core/domain";
import type { Platform } from "@covey/core/platform";
import type { MachineFacts } from "./identity/machine_facts.ts";
import type { NodeIdentity } from "./identity/node_identity.ts";
import type { Licence } from "./licence/licence.ts";
import type { LinkCredentials, LinkSockets } from "./link/link_sockets.ts";

/** What tests put in the place of what a node finds on its machine. */
export interface GroundSeams {
  /** Keys of licence issuers instead of those compiled in. */
  readonly licenceKeys?: readonly string[];
  /** The machine instead of the one this process runs on. */
  readonly machine?: MachineFacts;
  /** The member link over these instead of TLS over TCP. */
  readonly sockets?: LinkSockets;
}

/** What is read once, when the cluster is first to come up. */
export interface Groundwork {
  readonly identity: NodeIdentity & LinkCredentials;
  readonly machine: MachineFacts;
  readonly licence: Licence | null;
}

/**
 * Read who this node is, on which machine, and what it is licensed for. What
 * does so is loaded here: a node without a cluster never pays for it.
 *
 * @param host What the open node lends to the cluster.
 * @param platform Clock, chance and files.
 * @param seams What else is another than in the real world.
 * @throws {Error} When the identity can not be read or made.
 */
export async function readGroundwork(
  { config, log, node, stateDir }: Host,
  { clock, entropy, files }: Platform,
  seams: GroundSeams,
): Promise<Groundwork> {
  const [
    { loadIdentity },
    { readMachineFacts },
    { openLicence },
    { LICENCE_KEYS },
  ] = await Promise.all([
    import("./identity/node_identity.ts"),
    import("./identity/machine_facts.ts"),
    import("./licence/licence.ts"),
    import("./licence/licence_keys.ts"),
  ]);
  const machine = seams.machine ?? await readMachineFacts(files);
  const [identity, licence] = await Promise.all([
    loadIdentity({ files, entropy, log, stateDir, nodeId: node.id, machine }),
    openLicence(config.licence, {
      publicKeys: seams.licenceKeys ?? LICENCE_KEYS,
      nowMs: clock.now(),
      log,
    }),
  ]);
  const { sockets } = seams;
  const carried = sockets === undefined ? {} : { sockets };
  return { identity: { ...identity, ...carried }, licence, machine };
}
