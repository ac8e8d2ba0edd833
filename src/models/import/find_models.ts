import { isJsonObject, type JsonValue } from "../../domain/mod.ts";
import { FileError, type Files } from "../../platform/mod.ts";
import { baseOf, folderOf, groupModelFiles } from "../model_files.ts";

const DEEPEST = 10;
const MOST_ENTRIES = 100_000;
const LONGEST_MANIFEST_BYTES = 1024 * 1024;
const WEIGHTS = "application/vnd.ollama.image.model";
const PROJECTOR = "application/vnd.ollama.image.projector";
const VISION = /mmproj/i;
const DIGEST = /^sha256[:-]([0-9a-f]{64})$/;
const PUBLIC = /^(?:registry\.ollama\.ai|hf\.co|huggingface\.co)$/;

/** A model in a folder of another program. */
export interface FoundModel {
  readonly name: string;
  /** Absolute paths, first part first, and the names they are to have. */
  readonly files: readonly FoundFile[];
  /** The vision part that goes with it, or null. */
  readonly projector: FoundFile | null;
  /** Why it can not be taken over, as far as names and manifests tell; null for nothing. */
  readonly problem: string | null;
}

/** A file of a model: its absolute path, and the name it is to have. */
export interface FoundFile {
  readonly path: string;
  readonly name: string;
}

/**
 * Find models in a folder of another program. Ollama keeps names and weights
 * apart, which its manifests join; everywhere else files are called what they
 * are, be it through a link as in the cache of Hugging Face.
 *
 * @param files The file system.
 * @param folder An absolute path.
 * @param signal Aborting it ends the search.
 * @throws {FileError} When the folder can not be read.
 */
export async function findModels(
  files: Files,
  folder: string,
  signal: AbortSignal,
): Promise<readonly FoundModel[]> {
  const names = new Set((await files.list(folder)).map(({ name }) => name));
  if (names.has("manifests") && names.has("blobs")) {
    return await findOllama(files, folder, signal);
  }
  if (names.has("models")) {
    const inner = `${folder}/models`;
    const kind = (await files.stat(inner)).kind;
    const within = kind === "folder" ? await files.list(inner) : [];
    if (within.some(({ name }) => name === "manifests")) {
      return await findOllama(files, inner, signal);
    }
  }
  const paths = (await walk(files, folder, signal))
    .filter((path) => path.endsWith(".gguf"));
  const grouped = groupModelFiles(paths.map((path) => ({
    path,
    sizeBytes: 0,
    modifiedMs: null,
    identity: null,
  })));
  const placed = (path: string): FoundFile => ({
    path: `${folder}/${path}`,
    name: baseOf(path),
  });
  const parts = paths.filter((path) => VISION.test(baseOf(path)));
  const found = grouped.flatMap((one): FoundModel[] => {
    if (one.kind === "incomplete") {
      const { missing, name, parts } = one;
      const which = `${missing.join(", ")} of ${parts}`;
      return [unusable(name, `Parts are missing (${which})`)];
    }
    const [first] = one.files;
    const beside = VISION.test(baseOf(first.path)) ? undefined : parts.find(
      (path) =>
        folderOf(path) !== "" && folderOf(path) === folderOf(first.path),
    );
    return [{
      name: one.name,
      files: one.files.map(({ path }) => placed(path)),
      projector: beside === undefined ? null : placed(beside),
      problem: null,
    }];
  });
  const along = new Set(found.map(({ projector }) => projector?.path));
  return found.filter(({ files: [first] }) =>
    first === undefined || !along.has(first.path)
  );
}

async function findOllama(
  files: Files,
  folder: string,
  signal: AbortSignal,
): Promise<readonly FoundModel[]> {
  const found: FoundModel[] = [];
  const root = `${folder}/manifests`;
  for (const path of await walk(files, root, signal)) {
    const name = nameOf(path.split("/"));
    const layers = await layersOf(files, `${root}/${path}`);
    if (layers === null) {
      found.push(unusable(name, "Its manifest can not be read"));
      continue;
    }
    const weights = digestOf(layers, WEIGHTS);
    if (weights === null) continue;
    const blob = (digest: string, name: string): FoundFile => ({
      path: `${folder}/blobs/sha256-${digest}`,
      name: `${name}.gguf`,
    });
    const vision = digestOf(layers, PROJECTOR);
    found.push({
      name,
      files: [blob(weights, name)],
      projector: vision === null ? null : blob(vision, `mmproj-${name}`),
      problem: null,
    });
  }
  return found;
}

function unusable(name: string, problem: string): FoundModel {
  return { name, files: [], projector: null, problem };
}

/** `registry/namespace/model/tag` as one name; what everybody has is left out. */
function nameOf(steps: readonly string[]): string {
  const [tag, model, space, ...registry] = steps.toReversed();
  return [
    ...registry.toReversed().filter((one) => !PUBLIC.test(one)),
    ...(space === undefined || space === "library" ? [] : [space]),
    model,
    ...(tag === "latest" ? [] : [tag]),
  ].filter((one) => one !== undefined).join("-");
}

/** Null where it can not be read: what it names is hidden, and nothing else. */
async function layersOf(
  files: Files,
  path: string,
): Promise<readonly JsonValue[] | null> {
  let manifest: JsonValue;
  try {
    const { sizeBytes } = await files.stat(path);
    if (sizeBytes > LONGEST_MANIFEST_BYTES) return [];
    manifest = JSON.parse(await files.readText(path));
  } catch (error) {
    // Some other file of that program.
    if (error instanceof SyntaxError) return [];
    if (error instanceof FileError) return null;
    throw error;
  }
  const layers = isJsonObject(manifest) ? manifest["layers"] : undefined;
  return Array.isArray(layers) ? layers : [];
}

function digestOf(
  layers: readonly JsonValue[],
  mediaType: string,
): string | null {
  for (const layer of layers) {
    if (!isJsonObject(layer) || layer["mediaType"] !== mediaType) continue;
    return DIGEST.exec(String(layer["digest"]))?.[1] ?? null;
  }
  return null;
}

/** Paths of all visible files and links below a folder, links to folders not followed. */
async function walk(
  files: Files,
  folder: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const found: string[] = [];
  const waiting: { path: string; depth: number }[] = [{ path: "", depth: 0 }];
  for (let at = waiting.shift(); at !== undefined; at = waiting.shift()) {
    signal.throwIfAborted();
    const below = at.path === "" ? "" : `${at.path}/`;
    for (const { kind, name } of await entriesOf(files, folder, at.path)) {
      if (name.startsWith(".") || found.length >= MOST_ENTRIES) continue;
      const path = `${below}${name}`;
      if (kind === "file" || kind === "link") found.push(path);
      if (kind === "folder" && at.depth < DEEPEST) {
        waiting.push({ path, depth: at.depth + 1 });
      }
    }
  }
  return found.sort();
}

/** A folder below that can not be read hides what is in it and nothing else. */
async function entriesOf(files: Files, folder: string, path: string) {
  try {
    return await files.list(path === "" ? folder : `${folder}/${path}`);
  } catch (error) {
    if (path === "" || !(error instanceof FileError)) throw error;
    return [];
  }
}
