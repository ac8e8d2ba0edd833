import { FileError, type Files } from "./files.ts";

/**
 * Read how much of files a process has mapped and in memory. The system counts
 * these pages as free, for it could take them back; whoever computes with them
 * would have to read them again.
 *
 * @param files The file system, with /proc where the system has it.
 * @param pid The process.
 * @returns Bytes; 0 where nobody can say, or the process is gone.
 */
export async function mappedFileBytes(
  files: Pick<Files, "readText">,
  pid: number,
): Promise<number> {
  try {
    const status = await files.readText(`/proc/${pid}/status`);
    const kib = /^RssFile:\s+(\d{1,15}) kB$/m.exec(status)?.[1];
    return kib === undefined ? 0 : Number(kib) * 1024;
  } catch (error) {
    if (error instanceof FileError) return 0;
    throw error;
  }
}
