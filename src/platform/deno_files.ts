import {
  FileError,
  type FileProblem,
  type Files,
  type FileStat,
  type OpenFile,
  type WritableFile,
} from "./files.ts";

/**
 * The real file system.
 *
 * @param suffix Draws a name part for temporary files, so that two writers never share one.
 */
export function createDenoFiles(suffix: () => string): Files {
  return {
    readBytes: (path) => attempt("read", path, () => Deno.readFile(path)),
    readText: (path) => attempt("read", path, () => Deno.readTextFile(path)),
    writeAtomic: (path, content, mode) =>
      attempt("write", path, async () => {
        const temporary = `${path}.${suffix()}.tmp`;
        try {
          using file = await Deno.open(temporary, {
            write: true,
            createNew: true,
            mode,
          });
          const bytes = typeof content === "string"
            ? new TextEncoder().encode(content)
            : content;
          for (let at = 0; at < bytes.length;) {
            at += await file.write(bytes.subarray(at));
          }
          await file.syncData();
          await Deno.rename(temporary, path);
        } catch (error) {
          await Deno.remove(temporary).catch(() => {});
          throw error;
        }
      }),
    makeFolder: (path, mode) =>
      attempt(
        "make the folder",
        path,
        () => Deno.mkdir(path, { recursive: true, mode }),
      ),
    list: (path) =>
      attempt("list", path, async () => {
        const entries = [];
        for await (const entry of Deno.readDir(path)) {
          entries.push({
            name: entry.name,
            kind: entry.isSymlink
              ? "link" as const
              : entry.isFile
              ? "file" as const
              : entry.isDirectory
              ? "folder" as const
              : "other" as const,
          });
        }
        return entries.sort((a, b) => a.name < b.name ? -1 : 1);
      }),
    stat: (path) =>
      attempt("inspect", path, async (): Promise<FileStat> => {
        const info = await Deno.stat(path);
        return {
          sizeBytes: info.size,
          kind: info.isFile ? "file" : info.isDirectory ? "folder" : "other",
          modifiedMs: info.mtime?.getTime() ?? null,
          identity: info.ino === null ? null : `${info.dev}:${info.ino}`,
        };
      }),
    open: (path) =>
      attempt("open", path, async (): Promise<OpenFile> => {
        const file = await Deno.open(path, { read: true });
        const readInto: OpenFile["readInto"] = (offset, buffer) =>
          attempt("read", path, async () => {
            await file.seek(offset, Deno.SeekMode.Start);
            let filled = 0;
            while (filled < buffer.length) {
              const count = await file.read(buffer.subarray(filled));
              if (count === null) break;
              filled += count;
            }
            return filled;
          });
        return {
          async read(offset, length) {
            const buffer = new Uint8Array(length);
            return buffer.subarray(0, await readInto(offset, buffer));
          },
          readInto,
          [Symbol.dispose]: () => file.close(),
        };
      }),
    openForWriting: (path, mode) =>
      attempt("open", path, async (): Promise<WritableFile> => {
        const file = await Deno.open(path, { write: true, create: true, mode });
        // A place is sought and then written at, which are two steps.
        let turn: Promise<unknown> = Promise.resolve();
        const inTurn = (act: () => Promise<void>) => {
          const done = turn.then(() => attempt("write", path, act));
          turn = done.catch(() => {});
          return done;
        };
        return {
          write: (offset, bytes) =>
            inTurn(async () => {
              await file.seek(offset, Deno.SeekMode.Start);
              for (let at = 0; at < bytes.length;) {
                at += await file.write(bytes.subarray(at));
              }
            }),
          // It takes no turn: a slow disk must not hold up what is written next.
          sync: () => attempt("write", path, () => file.syncData()),
          [Symbol.dispose]: () => file.close(),
        };
      }),
    lock: (path) =>
      attempt("lock", path, async () => {
        const file = await Deno.open(path, {
          read: true,
          write: true,
          create: true,
          mode: 0o600,
        });
        try {
          if (await file.tryLock(true)) {
            return { [Symbol.dispose]: () => file.close() };
          }
        } catch (error) {
          file.close();
          throw error;
        }
        file.close();
        return null;
      }),
    rename: (from, to) => attempt("rename", from, () => Deno.rename(from, to)),
    link: (from, to) =>
      attempt("link", to, async () => {
        const source = await Deno.realPath(from);
        try {
          await Deno.link(source, to);
          return "linked";
        } catch (error) {
          if (error instanceof Deno.errors.AlreadyExists) throw error;
        }
        // Another disk, or a file system without links.
        const temporary = `${to}.${suffix()}.tmp`;
        try {
          await Deno.copyFile(source, temporary);
          await Deno.rename(temporary, to);
          return "copied";
        } catch (error) {
          await Deno.remove(temporary).catch(() => {});
          throw error;
        }
      }),
    remove: (path) =>
      attempt("remove", path, async () => {
        try {
          await Deno.remove(path, { recursive: true });
        } catch (error) {
          if (!(error instanceof Deno.errors.NotFound)) throw error;
        }
      }),
    removeEmptyFolder: (path) =>
      attempt("remove the folder", path, async () => {
        try {
          // Without recursion a link or a file would be removed as well.
          if (!(await Deno.lstat(path)).isDirectory) return false;
          await Deno.remove(path);
          return true;
        } catch (error) {
          if (error instanceof Deno.errors.NotFound) return false;
          const code = error instanceof Error && "code" in error
            ? error.code
            : "";
          // POSIX lets a system say either.
          if (code === "ENOTEMPTY" || code === "EEXIST") return false;
          throw error;
        }
      }),
  };
}

async function attempt<Result>(
  action: string,
  path: string,
  act: () => Promise<Result>,
): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof FileError) throw error;
    throw new FileError(problemOf(error), path, action, error);
  }
}

function problemOf(error: unknown): FileProblem {
  if (error instanceof Deno.errors.NotFound) return "missing";
  if (
    error instanceof Deno.errors.PermissionDenied ||
    error instanceof Deno.errors.NotCapable
  ) return "denied";
  if (error instanceof Deno.errors.AlreadyExists) return "exists";
  if (error instanceof Deno.errors.NotADirectory) return "no_folder";
  if (error instanceof Deno.errors.IsADirectory) return "folder";
  const code = error instanceof Error && "code" in error ? error.code : "";
  if (code === "ENOSPC" || code === "EDQUOT") return "full";
  if (code === "EROFS") return "read_only";
  return "other";
}
