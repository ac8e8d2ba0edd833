/** A file of the models folder that is named like a GGUF. */
export interface GgufFile {
  /** Path from the models folder, with `/`. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly modifiedMs: number | null;
  /** Device and inode, or null where the platform has none. */
  readonly identity: string | null;
}

/** The files that make up one model, first part first. */
export interface ModelFiles {
  readonly kind: "complete";
  readonly name: string;
  readonly files: readonly [GgufFile, ...GgufFile[]];
}

/** A split model some parts of which are not here. */
export interface IncompleteModel {
  readonly kind: "incomplete";
  readonly name: string;
  readonly parts: number;
  /** Numbers of the missing parts, the first few of them. */
  readonly missing: readonly number[];
}

const PART = /^(.+)-([0-9]{5})-of-([0-9]{5})\.gguf$/;
const SUFFIX = ".gguf";
const MOST_NAMED = 8;

/**
 * Put the parts of split models (`m-00001-of-00003.gguf` …) together. Parts
 * belong together when they lie in one folder and state the same total; a name
 * that only resembles a part's is a model of its own.
 *
 * @param files All files, in any order.
 * @returns Models sorted by the path of their first file.
 */
export function groupModelFiles(
  files: readonly GgufFile[],
): readonly (ModelFiles | IncompleteModel)[] {
  const grouped: { at: string; model: ModelFiles | IncompleteModel }[] = [];
  const splits = new Map<string, Split>();
  for (const file of files) {
    const part = parsePart(file.path);
    if (part === null) {
      const name = baseOf(file.path).slice(0, -SUFFIX.length);
      const model = { kind: "complete" as const, name, files: [file] as const };
      grouped.push({ at: file.path, model });
      continue;
    }
    const key = `${part.stem}-of-${part.total}`;
    const split = splits.get(key) ??
      { stem: part.stem, total: part.total, parts: new Map() };
    split.parts.set(part.number, file);
    splits.set(key, split);
  }
  for (const split of splits.values()) {
    grouped.push({ at: split.stem, model: assemble(split) });
  }
  grouped.sort((a, b) => a.at < b.at ? -1 : a.at > b.at ? 1 : 0);
  return grouped.map(({ model }) => model);
}

interface Split {
  /** Path up to the part's number. */
  readonly stem: string;
  readonly total: number;
  readonly parts: Map<number, GgufFile>;
}

function parsePart(
  path: string,
): { stem: string; number: number; total: number } | null {
  const [, stem, number, total] = PART.exec(path) ?? [];
  if (stem === undefined || stem.endsWith("/")) return null;
  const part = { stem, number: Number(number), total: Number(total) };
  return part.number >= 1 && part.number <= part.total ? part : null;
}

function assemble(split: Split): ModelFiles | IncompleteModel {
  const name = baseOf(split.stem);
  const missing: number[] = [];
  for (let number = 1; number <= split.total; number++) {
    if (!split.parts.has(number)) missing.push(number);
    if (missing.length === MOST_NAMED) break;
  }
  const [first, ...rest] = [...split.parts.entries()]
    .sort(([a], [b]) => a - b)
    .map(([, file]) => file);
  if (missing.length > 0 || first === undefined) {
    return { kind: "incomplete", name, parts: split.total, missing };
  }
  return { kind: "complete", name, files: [first, ...rest] };
}

/**
 * Tell a file's content apart from any other without reading it.
 *
 * @param file The file as it was found.
 */
export function fileKeyOf(file: GgufFile): string {
  return JSON.stringify([
    file.path,
    file.sizeBytes,
    file.modifiedMs,
    file.identity,
  ]);
}

/**
 * Name of a file without its folders.
 *
 * @param path A path with `/`.
 */
export function baseOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/**
 * Folders of a path without the file's name; empty where there are none.
 *
 * @param path A path with `/`.
 */
export function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}
