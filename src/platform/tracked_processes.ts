import type { Processes } from "./process.ts";

/** Processes that remember which of their children run. */
export interface TrackedProcesses extends Processes {
  /** Process ids of the children that run now. */
  pids(): readonly number[];
}

/**
 * Start children through another port, and keep their process ids for as long
 * as they run.
 *
 * @param processes What really starts them.
 */
export function trackProcesses(processes: Processes): TrackedProcesses {
  const pids = new Set<number>();
  return {
    self: processes.self,
    spawn(options) {
      const child = processes.spawn(options);
      pids.add(child.pid);
      const forget = () => pids.delete(child.pid);
      child.exited.then(forget, forget);
      return child;
    },
    pids: () => [...pids],
  };
}
