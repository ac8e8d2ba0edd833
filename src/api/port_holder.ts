/** Reading the kernel's tables; a failure of any method means that it cannot be told. */
export interface KernelTables {
  readText(path: string): Promise<string>;
  /** Names in a folder. */
  list(path: string): Promise<readonly string[]>;
  /** Where a link points. */
  readLink(path: string): Promise<string>;
}

/** The program that holds a port. */
export interface PortHolder {
  readonly pid: number;
  /** Program name as the kernel keeps it, at most 15 characters. */
  readonly program: string;
}

/** State "listening" in the kernel's socket table. */
const LISTENING = "0A";

/**
 * Find who listens on a port, as far as Linux lets this user see.
 *
 * @param port The port.
 * @param tables The kernel's tables.
 * @returns The holder, or undefined where it cannot be told.
 */
export async function findPortHolder(
  port: number,
  tables: KernelTables,
): Promise<PortHolder | undefined> {
  const sockets = new Set<string>();
  for (const table of ["/proc/net/tcp", "/proc/net/tcp6"]) {
    const text = await tables.readText(table).catch(absent);
    for (const inode of listeningInodes(text ?? "", port)) {
      sockets.add(`socket:[${inode}]`);
    }
  }
  if (sockets.size === 0) return undefined;
  for (const entry of await tables.list("/proc").catch(absent) ?? []) {
    if (!/^\d+$/.test(entry)) continue;
    if (!await holdsOne(entry, sockets, tables)) continue;
    const name = await tables.readText(`/proc/${entry}/comm`).catch(absent);
    return { pid: Number(entry), program: (name ?? "unknown").trim() };
  }
  return undefined;
}

async function holdsOne(
  pid: string,
  sockets: ReadonlySet<string>,
  tables: KernelTables,
): Promise<boolean> {
  const folder = `/proc/${pid}/fd`;
  // Other users' processes, and those that end meanwhile, cannot be read.
  for (const fd of await tables.list(folder).catch(absent) ?? []) {
    const link = await tables.readLink(`${folder}/${fd}`).catch(absent);
    if (link !== undefined && sockets.has(link)) return true;
  }
  return false;
}

function absent(): undefined {
  return undefined;
}

/**
 * Read the socket table of the kernel (proc(5), /proc/net/tcp).
 *
 * @param table Its text.
 * @param port The port.
 * @returns Inodes of the sockets that listen on it.
 */
export function listeningInodes(
  table: string,
  port: number,
): readonly string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const found: string[] = [];
  for (const line of table.split("\n").slice(1)) {
    const fields = line.trim().split(/\s+/);
    const [, local = "", , state] = fields;
    const inode = fields[9];
    if (
      state === LISTENING && local.endsWith(suffix) && inode !== undefined
    ) found.push(inode);
  }
  return found;
}
