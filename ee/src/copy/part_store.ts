import { CHUNK_BYTES, type ModelManifest } from "@covey/core/domain";
import {
  FileError,
  type Files,
  ifThere,
  type WritableFile,
} from "@covey/core/platform";
import { PARTS_FOLDER } from "./begun_copies.ts";
import { ChunkMap } from "./chunk_map.ts";
import { CopyError } from "./copy_error.ts";
import { type Chunk, planChunks } from "./chunk_plan.ts";
import { encodeManifest, parseManifest } from "./copy_manifest.ts";
import { sha256 } from "./gather.ts";
import { modelFileNames } from "./model_file_names.ts";

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o644;
const MANIFEST_FILE = "manifest.json";
const HELD_FILE = "held";
/** What is about to be published. */
const WHOLE = "whole";
const HELD = new Uint8Array([1]);
/** Bytes after which the disk is asked to take what was written, so that little is left to wait for at the end. */
const SYNC_EVERY_BYTES = 64 * 1024 * 1024;

/** A place for what has come of one model, so that a copy goes on after any end of the process. */
export class PartStore implements Disposable {
  readonly manifest: ModelManifest;
  readonly chunks: readonly Chunk[];
  readonly held: ChunkMap;
  readonly #files: Files;
  readonly #folder: string;
  readonly #parts: readonly WritableFile[];
  readonly #marks: WritableFile;
  #unsyncedBytes = 0;
  #syncing: Promise<void> | null = null;
  #syncFailure: { readonly error: unknown } | null = null;
  #isClosed = false;

  private constructor(
    files: Files,
    folder: string,
    manifest: ModelManifest,
    opened: {
      readonly held: ChunkMap;
      readonly parts: readonly WritableFile[];
      readonly marks: WritableFile;
    },
  ) {
    this.#files = files;
    this.#folder = folder;
    this.manifest = manifest;
    this.chunks = planChunks(manifest.files);
    this.held = opened.held;
    this.#parts = opened.parts;
    this.#marks = opened.marks;
  }

  /**
   * Open the place of a model, new or as it was left. What is marked as here is
   * read and checked again before it counts.
   *
   * @param modelsDir The models folder.
   * @throws {FileError} When it can not be written.
   */
  static async open(
    files: Files,
    modelsDir: string,
    manifest: ModelManifest,
    signal: AbortSignal,
  ): Promise<PartStore> {
    const folder = folderOf(modelsDir, manifest.root);
    await files.makeFolder(folder, FOLDER_MODE);
    await files.writeAtomic(
      `${folder}/${MANIFEST_FILE}`,
      encodeManifest(manifest),
      FILE_MODE,
    );
    await takeBack(files, folder);
    const held = await recheck(files, folder, manifest, signal);
    using stack = new DisposableStack();
    const parts: WritableFile[] = [];
    for (const at of manifest.files.keys()) {
      const path = `${folder}/${at}.part`;
      parts.push(stack.use(await files.openForWriting(path, FILE_MODE)));
    }
    const marks = stack.use(
      await files.openForWriting(`${folder}/${HELD_FILE}`, FILE_MODE),
    );
    stack.move();
    return new PartStore(files, folder, manifest, { held, parts, marks });
  }

  /** The manifest of a copy that was begun, or null. */
  static async manifestOf(
    files: Files,
    modelsDir: string,
    root: string,
  ): Promise<ModelManifest | null> {
    const path = `${folderOf(modelsDir, root)}/${MANIFEST_FILE}`;
    try {
      return parseManifest(await files.readBytes(path), root);
    } catch {
      // Not there, or torn: it is fetched.
      return null;
    }
  }

  /** Whether a process ended right after it had published a model: nothing is left to do. */
  static async wasPublished(
    files: Files,
    modelsDir: string,
    manifest: ModelManifest,
  ): Promise<boolean> {
    const folder = folderOf(modelsDir, manifest.root);
    const marks = await readMarks(files, `${folder}/${HELD_FILE}`);
    const names = (await files.list(folder)).map(({ name }) => name);
    return planChunks(manifest.files).every(({ index }) =>
      marks[index] === 1
    ) && !names.includes(WHOLE) && !names.includes("0.part");
  }

  /** Forget what has come of a model. */
  static async remove(
    files: Files,
    modelsDir: string,
    root: string,
  ): Promise<void> {
    await files.remove(folderOf(modelsDir, root));
  }

  /** Write a chunk that was found sound, then mark it. */
  async write(chunk: Chunk, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    // The system tells of bytes that it lost once, and never again.
    if (this.#syncFailure !== null) throw this.#syncFailure.error;
    await this.#parts[chunk.file]?.write(chunk.offset, bytes);
    await this.#marks.write(chunk.index, HELD);
    this.#unsyncedBytes += chunk.length;
    if (this.#syncing !== null || this.#unsyncedBytes < SYNC_EVERY_BYTES) {
      return;
    }
    this.#unsyncedBytes = 0;
    this.#syncing = this.#sync().catch((error) => {
      this.#syncFailure = { error };
    }).finally(() => {
      this.#syncing = null;
    });
  }

  /** How much of the model is here, in bytes. */
  get heldBytes(): number {
    return this.chunks.reduce(
      (sum, { index, length }) => this.held.has(index) ? sum + length : sum,
      0,
    );
  }

  /** Where a file of the model lies until it is published. */
  pathOf(file: number): string {
    return `${this.#folder}/${file}.part`;
  }

  /**
   * Make the model appear, whole or not at all: its files get their names in a
   * folder that then becomes one of the models folder.
   *
   * @param model The name it is to be offered under, checked.
   * @returns The paths of its files.
   * @throws {FileError} When it can not be moved.
   */
  async publish(
    modelsDir: string,
    model: string,
  ): Promise<readonly string[]> {
    await this.#close();
    const names = modelFileNames(model, this.#parts.length);
    const whole = `${this.#folder}/${WHOLE}`;
    await this.#files.makeFolder(whole, 0o755);
    for (const [file, name] of names.entries()) {
      await this.#files.rename(this.pathOf(file), `${whole}/${name}`);
    }
    const target = await freeFolder(this.#files, modelsDir, model);
    await this.#files.rename(whole, target);
    await this.#files.remove(this.#folder);
    return names.map((name) => `${target}/${name}`);
  }

  /**
   * Put the files into a folder of the models folder that is there already: the
   * one of the model that they go with.
   *
   * @param folder Its path.
   * @param names Of the files, safe ones.
   * @returns The paths of the files.
   * @throws {CopyError} When something else has one of the names.
   * @throws {FileError} When they can not be moved.
   */
  async publishBeside(
    folder: string,
    names: readonly string[],
  ): Promise<readonly string[]> {
    const there = new Set(
      (await this.#files.list(folder)).map(({ name }) => name),
    );
    const taken = names.find((name) => there.has(name));
    if (taken !== undefined) {
      throw new CopyError(
        `Another file ${JSON.stringify(taken)} lies with the model already`,
      );
    }
    await this.#close();
    for (const [file, name] of names.entries()) {
      await this.#files.rename(this.pathOf(file), `${folder}/${name}`);
    }
    await this.#files.remove(this.#folder);
    return names.map((name) => `${folder}/${name}`);
  }

  /** Once it is sure that all lies on the disk. */
  async #close(): Promise<void> {
    await this.#syncing;
    if (this.#syncFailure !== null) throw this.#syncFailure.error;
    await this.#sync();
    this[Symbol.dispose]();
  }

  async #sync(): Promise<void> {
    for (const part of this.#parts) await part.sync();
  }

  [Symbol.dispose](): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const part of this.#parts) part[Symbol.dispose]();
    this.#marks[Symbol.dispose]();
  }
}

function folderOf(modelsDir: string, root: string): string {
  return `${modelsDir}/${PARTS_FOLDER}/${root}`;
}

/** Undo a publishing that the end of the process cut short. */
async function takeBack(files: Files, folder: string): Promise<void> {
  const entries = await files.list(folder);
  if (!entries.some(({ name }) => name === WHOLE)) return;
  // In the order of their names, which is that of the parts.
  const moved = await files.list(`${folder}/${WHOLE}`);
  for (const [file, { name }] of moved.entries()) {
    await files.rename(`${folder}/${WHOLE}/${name}`, `${folder}/${file}.part`);
  }
  await files.remove(`${folder}/${WHOLE}`);
}

async function recheck(
  files: Files,
  folder: string,
  manifest: ModelManifest,
  signal: AbortSignal,
): Promise<ChunkMap> {
  const chunks = planChunks(manifest.files);
  const held = new ChunkMap(chunks.length);
  const marks = await readMarks(files, `${folder}/${HELD_FILE}`);
  const room = new Uint8Array(CHUNK_BYTES);
  for (const at of manifest.files.keys()) {
    const marked = chunks.filter(({ file, index }) =>
      file === at && marks[index] === 1
    );
    if (marked.length === 0) continue;
    // A part that is gone is fetched again.
    using part = await ifThere(files.open(`${folder}/${at}.part`));
    for (const chunk of part === null ? [] : marked) {
      signal.throwIfAborted();
      const bytes = room.subarray(0, chunk.length);
      const count = await part?.readInto(chunk.offset, bytes);
      if (count === chunk.length && sha256(bytes) === chunk.digest) {
        held.add(chunk.index);
      }
    }
  }
  return held;
}

async function readMarks(files: Files, path: string): Promise<Uint8Array> {
  return await ifThere(files.readBytes(path)) ?? new Uint8Array();
}

/** A name in the models folder that nothing has any more but an empty folder, which goes. */
async function freeFolder(
  files: Files,
  modelsDir: string,
  model: string,
): Promise<string> {
  for (let n = 1;; n++) {
    const path = `${modelsDir}/${n === 1 ? model : `${model} (${n})`}`;
    try {
      await files.stat(path);
      if (await files.removeEmptyFolder(path)) return path;
    } catch (error) {
      if (error instanceof FileError && error.problem === "missing") {
        return path;
      }
      throw error;
    }
  }
}
