/** What a process has used so far; Linux only. */

/** The kernel counts in hundredths of a second. */
const TICK_MS = 10;

/**
 * Processor time of processes, of all their threads, user's and system's.
 *
 * @param pids The processes.
 * @returns Milliseconds together.
 */
export async function cpuMs(pids: readonly number[]): Promise<number> {
  let ticks = 0;
  for (const pid of pids) {
    const stat = await Deno.readTextFile(`/proc/${pid}/stat`);
    // The program's name may hold spaces: what follows its bracket is plain.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks * TICK_MS;
}

/**
 * Resident memory of processes.
 *
 * @param pids The processes.
 * @returns MiB together.
 */
export async function residentMiB(pids: readonly number[]): Promise<number> {
  let kib = 0;
  for (const pid of pids) {
    const status = await Deno.readTextFile(`/proc/${pid}/status`);
    kib += Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
  }
  return kib / 1024;
}
