import { createHash, createHmac } from "node:crypto";
import type { Files } from "@covey/core/platform";

/** What tells one machine from another, as far as this process may read it. */
export interface MachineFacts {
  /** Serial number of the board, or null where it is unknown or nobody's. */
  readonly board: string | null;
  /** The operating system's own id of this installation, or null. */
  readonly machineId: string | null;
  /** Burnt-in addresses of its network devices. */
  readonly macs: readonly string[];
}

/** The same as it is kept beside a key: digests that mean nothing elsewhere. */
export interface MachineMarks {
  readonly board: string | null;
  readonly macs: readonly string[];
}

/** Where Linux shows a board's serial number; the first is for root alone. */
const BOARD_FILES = [
  "/sys/class/dmi/id/board_serial",
  "/sys/firmware/devicetree/base/serial-number",
];
const MACHINE_ID_FILES = ["/etc/machine-id", "/var/lib/dbus/machine-id"];
/** What makers leave where a serial number belongs. */
const NO_SERIAL =
  /^(?:|none|n\/?a|default string|not (?:specified|applicable|available)|to be filled.*|system serial.*|base board.*|unknown|(.)\1*|0?123456789.*)$/i;
const LONGEST = 128;
const MOST_MACS = 32;
/** Bit of an address's first byte that says: made up by software. */
const LOCAL_BIT = 0x02;

/**
 * Read what this machine is.
 *
 * @param files Where Linux shows it; elsewhere only the network devices are known.
 * @param list The network devices.
 */
export async function readMachineFacts(
  files: Files,
  list: () => readonly { readonly mac: string }[] = () =>
    Deno.networkInterfaces(),
): Promise<MachineFacts> {
  const board = await firstOf(files, BOARD_FILES);
  const macs = new Set(
    list().map(({ mac }) => mac.toLowerCase()).filter(isBurntIn),
  );
  return {
    board: board === null || NO_SERIAL.test(board) ? null : board,
    machineId: await firstOf(files, MACHINE_ID_FILES),
    macs: [...macs].sort().slice(0, MOST_MACS),
  };
}

/**
 * What a machine is known by in a cluster, whatever its identity: an HMAC of
 * its board's serial number or else its installation's id, under the cluster's
 * id, so that it means nothing elsewhere and to nobody else.
 *
 * @param facts The machine.
 * @param clusterId The cluster's id, which only members know.
 * @returns 32 hexadecimal digits, or undefined where nothing is known.
 */
export function machineTag(
  { board, machineId }: MachineFacts,
  clusterId: string,
): string | undefined {
  const text = board !== null
    ? `board ${board}`
    : machineId !== null
    ? `machine ${machineId}`
    : undefined;
  return text === undefined
    ? undefined
    : createHmac("sha256", `covey/1 machine tag ${clusterId}`).update(text)
      .digest("hex").slice(0, 32);
}

/**
 * Mark a machine for a key.
 *
 * @param facts The machine.
 * @param keyHash The key, which makes the marks its own.
 */
export function markMachine(
  facts: MachineFacts,
  keyHash: string,
): MachineMarks {
  const mark = (text: string) =>
    createHash("sha256").update(`covey/1 machine ${keyHash} ${text}`)
      .digest("hex");
  return {
    board: facts.board === null ? null : mark(facts.board),
    macs: facts.macs.map(mark),
  };
}

/**
 * Whether a key has come to another machine, as on a copied disk. The board
 * decides where it is known both times, else the network devices, of which one
 * that is the same is enough.
 *
 * @returns What has changed, or null.
 */
export function machineChange(
  before: MachineMarks,
  now: MachineMarks,
): "board serial number" | "network devices" | null {
  if (before.board !== null && now.board !== null) {
    return before.board === now.board ? null : "board serial number";
  }
  if (before.macs.length === 0 || now.macs.length === 0) return null;
  return before.macs.some((mac) => now.macs.includes(mac))
    ? null
    : "network devices";
}

async function firstOf(
  files: Files,
  paths: readonly string[],
): Promise<string | null> {
  for (const path of paths) {
    try {
      // Device tree strings end with a NUL.
      const text = (await files.readText(path)).replaceAll("\0", "").trim();
      if (text !== "" && text.length <= LONGEST) return text;
    } catch {
      // Not this kind of machine, or not for this user.
    }
  }
  return null;
}

function isBurntIn(mac: string): boolean {
  const first = /^([0-9a-f]{2})(?::[0-9a-f]{2}){5}$/.exec(mac)?.[1];
  return first !== undefined && mac !== "00:00:00:00:00:00" &&
    (parseInt(first, 16) & LOCAL_BIT) === 0;
}
