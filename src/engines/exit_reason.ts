import type { ExitStatus } from "../platform/mod.ts";

/** 128 + 9: how a kill shows when nobody reports the signal. */
const KILLED = 137;

/**
 * Say why a process ended that nobody had asked to.
 *
 * @param status How it ended.
 * @returns A clause that follows "The engine".
 */
export function describeExit(status: ExitStatus): string {
  if (status.code === KILLED || status.signal === "SIGKILL") {
    return "was killed, most likely because the machine ran out of memory (killed/out of memory)";
  }
  if (status.signal !== null) return `crashed (${status.signal})`;
  if (status.code === 0) return "ended without being asked to";
  return `ended with exit code ${status.code}`;
}
