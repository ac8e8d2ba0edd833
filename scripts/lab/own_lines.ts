/**
 * Take the program's own lines out of what its process wrote on stderr: where
 * ee/ was moved away, the runtime itself notes first that it misses it.
 *
 * @param stderr All that was written.
 * @returns The program's lines.
 */
export function ownLines(stderr: string): string[] {
  return stderr.trim().split("\n").filter((line) =>
    !line.startsWith("Workspace member ")
  );
}
