import {
  FileError,
  type FileFact,
  type Files,
  type FileStat,
  type OpenFile,
  type WritableFile,
} from "./files.ts";

/**
 * A file system in memory, for tests. Paths are absolute and use `/`.
 *
 * @param seed Content by path.
 */
export class MemoryFiles implements Files {
  #files = new Map<string, Uint8Array<ArrayBuffer>>();
  #folders = new Set<string>(["/"]);
  readonly #locks = new Set<string>();
  /** Set to make every write fail in that way. */
  failWrites: "full" | "denied" | null = null;

  /**
   * Make a file system.
   *
   * @param seed Content by path.
   */
  constructor(
    seed: Readonly<Record<string, string | Uint8Array<ArrayBuffer>>> = {},
  ) {
    for (const [path, content] of Object.entries(seed)) {
      this.#files.set(path, bytesOf(content));
      this.#addFolders(parentOf(path));
    }
  }

  /** See `Files`. */
  // deno-lint-ignore require-await
  async readBytes(path: string): Promise<Uint8Array<ArrayBuffer>> {
    const content = this.#files.get(path);
    if (content === undefined) throw missing("read", path);
    return content.slice();
  }

  /** See `Files`. */
  async readText(path: string): Promise<string> {
    return new TextDecoder().decode(await this.readBytes(path));
  }

  // deno-lint-ignore require-await
  async writeAtomic(
    path: string,
    content: Uint8Array<ArrayBuffer> | string,
    _mode: number,
  ): Promise<void> {
    if (this.failWrites !== null) {
      throw new FileError(this.failWrites, path, "write", undefined);
    }
    if (!this.#folders.has(parentOf(path))) throw missing("write", path);
    this.#files.set(path, bytesOf(content));
  }

  // deno-lint-ignore require-await
  async makeFolder(path: string, _mode: number): Promise<void> {
    if (this.failWrites !== null) {
      throw new FileError(this.failWrites, path, "make the folder", undefined);
    }
    this.#addFolders(path);
  }

  // deno-lint-ignore require-await
  async list(path: string): Promise<readonly FileFact[]> {
    if (!this.#folders.has(path)) throw missing("list", path);
    const prefix = path === "/" ? "/" : `${path}/`;
    const found = new Map<string, FileFact>();
    for (const folder of this.#folders) {
      const rest = restOf(folder, prefix);
      if (rest !== null) found.set(rest, { name: rest, kind: "folder" });
    }
    for (const file of this.#files.keys()) {
      const rest = restOf(file, prefix);
      if (rest !== null) found.set(rest, { name: rest, kind: "file" });
    }
    return [...found.values()].sort((a, b) => a.name < b.name ? -1 : 1);
  }

  /** See `Files`. */
  // deno-lint-ignore require-await
  async stat(path: string): Promise<FileStat> {
    const content = this.#files.get(path);
    if (content === undefined && !this.#folders.has(path)) {
      throw missing("inspect", path);
    }
    return {
      sizeBytes: content?.length ?? 0,
      kind: content === undefined ? "folder" as const : "file" as const,
      modifiedMs: null,
      identity: null,
    };
  }

  /** See `Files`. */
  async open(path: string): Promise<OpenFile> {
    const content = await this.readBytes(path);
    return {
      // deno-lint-ignore require-await
      read: async (offset: number, length: number) =>
        content.slice(offset, offset + length),
      // deno-lint-ignore require-await
      readInto: async (offset, buffer) => {
        const bytes = content.subarray(offset, offset + buffer.length);
        buffer.set(bytes);
        return bytes.length;
      },
      [Symbol.dispose]: () => {},
    };
  }

  /** See `Files`. */
  // deno-lint-ignore require-await
  async openForWriting(path: string, _mode: number): Promise<WritableFile> {
    if (this.failWrites !== null) {
      throw new FileError(this.failWrites, path, "open", undefined);
    }
    if (!this.#folders.has(parentOf(path))) throw missing("open", path);
    if (!this.#files.has(path)) this.#files.set(path, bytesOf(""));
    return {
      // deno-lint-ignore require-await
      write: async (offset, bytes) => {
        if (this.failWrites !== null) {
          throw new FileError(this.failWrites, path, "write", undefined);
        }
        const held = this.#files.get(path) ?? new Uint8Array();
        const end = offset + bytes.length;
        const content = end <= held.length ? held : new Uint8Array(end);
        if (content !== held) content.set(held);
        content.set(bytes, offset);
        this.#files.set(path, content);
      },
      sync: () => Promise.resolve(),
      [Symbol.dispose]: () => {},
    };
  }

  /** See `Files`. */
  // deno-lint-ignore require-await
  async rename(from: string, to: string): Promise<void> {
    if (this.#folders.has(from)) return this.#renameFolder(from, to);
    const content = this.#files.get(from);
    if (content === undefined) throw missing("rename", from);
    this.#files.delete(from);
    this.#files.set(to, content);
  }

  /** See `Files`; there are no shared bytes here, which nobody can tell. */
  // deno-lint-ignore require-await
  async link(from: string, to: string): Promise<"linked" | "copied"> {
    if (this.failWrites !== null) {
      throw new FileError(this.failWrites, to, "link", undefined);
    }
    const content = this.#files.get(from);
    if (content === undefined) throw missing("link", from);
    if (!this.#folders.has(parentOf(to))) throw missing("link", to);
    if (this.#files.has(to)) {
      throw new FileError("exists", to, "link", undefined);
    }
    this.#files.set(to, content);
    return "linked";
  }

  // deno-lint-ignore require-await
  async lock(path: string): Promise<Disposable | null> {
    if (this.#locks.has(path)) return null;
    if (!this.#folders.has(parentOf(path))) throw missing("lock", path);
    if (!this.#files.has(path)) this.#files.set(path, bytesOf(""));
    this.#locks.add(path);
    return { [Symbol.dispose]: () => void this.#locks.delete(path) };
  }

  // deno-lint-ignore require-await
  async remove(path: string): Promise<void> {
    this.#files.delete(path);
    for (const file of [...this.#files.keys()]) {
      if (file.startsWith(`${path}/`)) this.#files.delete(file);
    }
    for (const folder of [...this.#folders]) {
      if (folder === path || folder.startsWith(`${path}/`)) {
        this.#folders.delete(folder);
      }
    }
  }

  // deno-lint-ignore require-await
  async removeEmptyFolder(path: string): Promise<boolean> {
    if (!this.#folders.has(path)) return false;
    const isInside = (other: string) => other.startsWith(`${path}/`);
    if ([...this.#files.keys(), ...this.#folders].some(isInside)) return false;
    return this.#folders.delete(path);
  }

  #renameFolder(from: string, to: string): void {
    const moved = (path: string) => `${to}${path.slice(from.length)}`;
    for (const [path, content] of [...this.#files]) {
      if (!path.startsWith(`${from}/`)) continue;
      this.#files.delete(path);
      this.#files.set(moved(path), content);
    }
    for (const path of [...this.#folders]) {
      if (path !== from && !path.startsWith(`${from}/`)) continue;
      this.#folders.delete(path);
      this.#folders.add(moved(path));
    }
  }

  #addFolders(path: string): void {
    for (let at = path; at !== "/"; at = parentOf(at)) this.#folders.add(at);
  }
}

function bytesOf(content: Uint8Array<ArrayBuffer> | string) {
  return typeof content === "string"
    ? new TextEncoder().encode(content)
    : content.slice();
}

function parentOf(path: string): string {
  const cut = path.lastIndexOf("/");
  return cut <= 0 ? "/" : path.slice(0, cut);
}

function restOf(path: string, prefix: string): string | null {
  if (!path.startsWith(prefix) || path === prefix) return null;
  const rest = path.slice(prefix.length);
  return rest.includes("/") ? null : rest;
}

function missing(action: string, path: string): FileError {
  return new FileError("missing", path, action, undefined);
}
