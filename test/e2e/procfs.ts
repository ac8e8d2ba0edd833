/** What the kernel says of a process; Linux only. */

/** Sockets a process holds, by the files of /proc/net that list them. */
export interface HeldSockets {
  /** Local ports of listening TCP sockets. */
  readonly tcpListeners: readonly number[];
  /** Local ports of UDP sockets. */
  readonly udp: readonly number[];
}

const LISTEN = "0A";

/**
 * Read which network sockets a process holds.
 *
 * @param pid The process.
 * @returns Its listeners and UDP sockets, IPv4 and IPv6.
 */
export async function heldSockets(pid: number): Promise<HeldSockets> {
  const inodes = new Set<string>();
  for await (const { name } of Deno.readDir(`/proc/${pid}/fd`)) {
    const link = await Deno.readLink(`/proc/${pid}/fd/${name}`).catch(() => "");
    const inode = /^socket:\[(\d+)\]$/.exec(link)?.[1];
    if (inode !== undefined) inodes.add(inode);
  }
  const tcp = [...await table(pid, "tcp"), ...await table(pid, "tcp6")];
  const udp = [...await table(pid, "udp"), ...await table(pid, "udp6")];
  const held = (row: Row) => inodes.has(row.inode);
  return {
    tcpListeners: tcp.filter(held).filter(({ state }) => state === LISTEN)
      .map(({ port }) => port),
    udp: udp.filter(held).map(({ port }) => port),
  };
}

/**
 * Resident memory of a process.
 *
 * @param pid The process.
 * @returns Bytes.
 */
export async function residentBytes(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

/**
 * Find the processes below one, children's children included.
 *
 * @param pid The process.
 * @returns Their ids.
 */
export async function descendants(pid: number): Promise<number[]> {
  const parents = new Map<number, number>();
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await Deno.readTextFile(`/proc/${name}/stat`).catch(() => "");
    // The program's name may hold spaces and brackets: what follows the last one is plain.
    const parent = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1];
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  const found: number[] = [];
  for (let grown = [pid]; grown.length > 0;) {
    grown = [...parents].filter(([, parent]) => grown.includes(parent))
      .map(([child]) => child);
    found.push(...grown);
  }
  return found;
}

/**
 * Tell whether a process runs (a zombie does not).
 *
 * @param pid The process.
 * @returns Whether it does.
 */
export async function isRunning(pid: number): Promise<boolean> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => "");
  return stat !== "" && !/\) Z /.test(stat);
}

interface Row {
  readonly port: number;
  readonly state: string;
  readonly inode: string;
}

async function table(pid: number, name: string): Promise<Row[]> {
  const text = await Deno.readTextFile(`/proc/${pid}/net/${name}`)
    .catch(() => "");
  return text.split("\n").slice(1).filter((line) => line !== "").map((line) => {
    const fields = line.trim().split(/\s+/);
    return {
      port: parseInt((fields[1] ?? "").split(":")[1] ?? "", 16),
      state: fields[3] ?? "",
      inode: fields[9] ?? "",
    };
  });
}
