/** What the kernel says that a process costs; Linux only. */
export interface ProcessCost {
  readonly residentMiB: number;
  /** Processor time that it has had, in seconds. */
  readonly cpuSeconds: number;
}

/** Linux counts processor time in 1/100 s. */
const TICKS_PER_SECOND = 100;
const LOOK_EVERY_MS = 50;

/** Read what a process costs. */
export async function costOf(pid: number): Promise<ProcessCost> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`);
  // The program's name may hold spaces: what follows the last bracket is plain.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return {
    residentMiB: Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024,
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
  };
}

/** Processor time that this machine spent on anything at all, in seconds. */
export async function machineCpuSeconds(): Promise<number> {
  const [line = ""] = (await Deno.readTextFile("/proc/stat")).split("\n");
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0] = line
    .split(/\s+/).slice(1).map(Number);
  return (user + nice + system + irq + softIrq) / TICKS_PER_SECOND;
}

/** Watches how much memory a process takes at most. */
export class MemoryWatch implements Disposable {
  readonly #timer: ReturnType<typeof setInterval>;
  #peakMiB = 0;

  /** @param pid The process. */
  constructor(pid: number) {
    this.#timer = setInterval(() => {
      costOf(pid).then(({ residentMiB }) => {
        this.#peakMiB = Math.max(this.#peakMiB, residentMiB);
      }, () => {
        // It has ended: its peak stands.
      });
    }, LOOK_EVERY_MS);
  }

  /** Most memory it took so far. */
  get peakMiB(): number {
    return this.#peakMiB;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
