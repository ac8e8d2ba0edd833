/**
 * A node is its key. Its file also keeps digests of the board's serial number and
 * of burnt-in network addresses: when they are another machine's at a start, the
 * identity is put aside (`cluster.old-N` in the data folder) and the node is a new
 * one. One process holds a data folder (`node.lock`); `covey identity reset` does
 * the same by hand while none does. Of two running nodes with one key, told apart
 * by the boot id that every request states, each member believes the one it saw
 * first as long as that one answers, and refuses the other with both addresses.
 *
 * @module
 */
import type { Log, NodeId } from "@covey/core/domain";
import { type Entropy, type Files, ifThere } from "@covey/core/platform";
import { z } from "zod";
import { makeCertificate, makePrivateKey, publicKeyOf } from "./certificate.ts";
import {
  type MachineFacts,
  type MachineMarks,
  markMachine,
} from "./machine_facts.ts";
import {
  type KeyHash,
  keyHashOfCertificate,
  keyHashOfSpki,
} from "./key_hash.ts";

/** Who this node is to its peers. */
export interface NodeIdentity {
  readonly id: NodeId;
  /** What peers pin. */
  readonly keyHash: KeyHash;
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

/** An identity file that cannot be used. It is left as it is. */
export class IdentityError extends Error {
  override readonly name = "IdentityError";
  readonly path: string;

  constructor(path: string, problem: string, remedy: string) {
    super(
      `Failed to read this node's identity from "${path}": ${problem}. The file is left as it is: ${remedy}`,
    );
    this.path = path;
  }
}

/** What loading an identity needs. */
export interface IdentityOptions {
  readonly files: Files;
  readonly entropy: Entropy;
  readonly log: Log;
  /** Folder of the cluster's state. */
  readonly stateDir: string;
  readonly nodeId: NodeId;
  /** This machine, to be kept beside the key; without it what is kept stays. */
  readonly machine?: MachineFacts;
}

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
const REMEDY = "put back a good copy, or run `covey identity reset`, " +
  "after which this host is a new member";

const fileSchema = z.object({
  v: z.literal(1),
  nodeId: z.string(),
  keyHash: z.string(),
  privateKey: z.string(),
  certificate: z.string(),
  // Kept by later starts; a file of an older version has none.
  machine: z.object({
    board: z.string().nullable(),
    macs: z.array(z.string()).max(64),
  }).exactOptional(),
});
type IdentityFile = z.infer<typeof fileSchema>;

/**
 * Load this node's identity from `identity.json`, or make one where there is
 * no such file. A file that is there is never replaced by another identity;
 * only a certificate that cannot be read is made again for the same key.
 *
 * @param options What it needs.
 * @returns The identity.
 * @throws {IdentityError} When the file is damaged or another node's.
 * @throws {FileError} When the file can not be read or written.
 */
export async function loadIdentity(
  options: IdentityOptions,
): Promise<NodeIdentity> {
  const path = `${options.stateDir}/identity.json`;
  const text = await ifThere(options.files.readText(path));
  if (text === null) return await found(options, path);
  const file = parseFile(text);
  if (file === undefined) {
    throw new IdentityError(path, "the file is damaged", REMEDY);
  }
  if (file.nodeId !== options.nodeId) {
    throw new IdentityError(
      path,
      `it belongs to the node "${file.nodeId}", not to "${options.nodeId}"`,
      REMEDY,
    );
  }
  const spki = publicKeyOf(file.privateKey);
  if (spki === undefined || keyHashOfSpki(spki) !== file.keyHash) {
    throw new IdentityError(path, "its key is damaged", REMEDY);
  }
  const keyHash = keyHashOfSpki(spki);
  if (keyHashOfCertificate(file.certificate) === keyHash) {
    await keepMachine(options, path, file);
    return identityOf(options.nodeId, keyHash, file);
  }
  options.log.warn(
    "The certificate of this node's key could not be read; made it again for the same key",
    { path, keyHash },
  );
  return await save(options, path, file.privateKey, keyHash);
}

async function found(
  options: IdentityOptions,
  path: string,
): Promise<NodeIdentity> {
  const privateKey = makePrivateKey();
  const spki = publicKeyOf(privateKey);
  if (spki === undefined) {
    throw new Error("Failed to make this node's key: it cannot be read back");
  }
  const keyHash = keyHashOfSpki(spki);
  await options.files.makeFolder(options.stateDir, FOLDER_MODE);
  const identity = await save(options, path, privateKey, keyHash);
  options.log.info("Made this node's identity", { path, keyHash });
  return identity;
}

async function save(
  options: IdentityOptions,
  path: string,
  privateKey: string,
  keyHash: KeyHash,
): Promise<NodeIdentity> {
  const { nodeId } = options;
  const file: IdentityFile = {
    v: 1,
    nodeId,
    keyHash,
    privateKey,
    certificate: await makeCertificate(nodeId, privateKey, options.entropy),
    ...marksOf(options, keyHash),
  };
  if (keyHashOfCertificate(file.certificate) !== keyHash) {
    throw new Error(
      "Failed to make this node's certificate: it cannot be read back",
    );
  }
  await write(options, path, file);
  return identityOf(nodeId, keyHash, file);
}

async function write(
  { files }: IdentityOptions,
  path: string,
  file: IdentityFile,
): Promise<void> {
  await files.writeAtomic(
    path,
    `${JSON.stringify(file, null, 2)}\n`,
    FILE_MODE,
  );
}

/**
 * Keep what this machine is beside the key, the first time and when more of it
 * is known than before: a start by another user may see less.
 */
async function keepMachine(
  options: IdentityOptions,
  path: string,
  file: IdentityFile,
): Promise<void> {
  const { machine: now } = marksOf(options, file.keyHash);
  if (now === undefined) return;
  const before = file.machine;
  const machine: MachineMarks = {
    board: now.board ?? before?.board ?? null,
    macs: now.macs.length > 0 ? now.macs : before?.macs ?? [],
  };
  if (JSON.stringify(before) === JSON.stringify(machine)) return;
  await write(options, path, {
    ...file,
    machine: { ...machine, macs: [...machine.macs] },
  });
}

function marksOf(
  { machine }: IdentityOptions,
  keyHash: string,
): { machine?: { board: string | null; macs: string[] } } {
  if (machine === undefined) return {};
  const { board, macs } = markMachine(machine, keyHash);
  return { machine: { board, macs: [...macs] } };
}

function identityOf(
  id: NodeId,
  keyHash: KeyHash,
  file: IdentityFile,
): NodeIdentity {
  return {
    id,
    keyHash,
    certificatePem: file.certificate,
    privateKeyPem: file.privateKey,
  };
}

function parseFile(text: string): IdentityFile | undefined {
  try {
    const parsed = fileSchema.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : undefined;
  } catch {
    // Not JSON: torn or garbled, which the caller reports.
    return undefined;
  }
}
