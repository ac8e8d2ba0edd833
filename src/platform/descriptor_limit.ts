import { FileError, type Files } from "./files.ts";

/** Fewest file descriptors a node starts with: its sockets and files together may need as many. */
export const FEWEST_DESCRIPTORS = 4096;

/**
 * Read how many files and sockets this process may have open. Linux tells it
 * in /proc; elsewhere it is not known.
 *
 * @param files Where /proc is read.
 * @returns The soft limit, `Infinity` without one, or null where it is not known.
 */
export async function readDescriptorLimit(
  files: Pick<Files, "readText">,
): Promise<number | null> {
  let text: string;
  try {
    text = await files.readText("/proc/self/limits");
  } catch (error) {
    if (error instanceof FileError) return null;
    throw error;
  }
  const soft = /^Max open files\s+(\d+|unlimited)\s/m.exec(text)?.[1];
  if (soft === undefined) return null;
  return soft === "unlimited" ? Infinity : Number(soft);
}
