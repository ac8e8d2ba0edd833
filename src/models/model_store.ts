import {
  type CompanionPlace,
  Fault,
  type FileDigest,
  type FileOrigin,
  type InvalidModel,
  type LocalModel,
  type Log,
  type ModelCare,
  type ModelCheck,
  type ModelInventory,
  type ModelManifest,
  type ModelWeights,
  type PartialFiles,
} from "../domain/mod.ts";
import { type Clock, FileError, type Files } from "../platform/mod.ts";
import { aliasFiles, hasName, linkAliases } from "./alias_files.ts";
import {
  CompanionFiles,
  type Companions,
  manifestOfCompanions,
  readFileChunk,
} from "./companion_files.ts";
import { housedIn, pictureOf } from "./folder_picture.ts";
import { type FolderScan, scanFolder } from "./folder_scan.ts";
import { makeManifest } from "./manifest.ts";
import { ModelDigests } from "./model_digests.ts";
import {
  baseOf,
  fileKeyOf,
  folderOf,
  type GgufFile,
  type ModelFiles,
} from "./model_files.ts";
import { inspectFile, type Inspection } from "./model_inspection.ts";
import { partialFiles } from "./partial_files.ts";
import { removeModelFiles } from "./remove_model_files.ts";
import { storageFault } from "./storage_fault.ts";
import { verifyModel } from "./verify_model.ts";

const RESCAN_EVERY_MS = 10_000;

/** What a model store is built from. */
export interface ModelStoreOptions {
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  /** Folder with the weights; it need not exist yet. */
  readonly modelsDir: string;
  /** Folder that digests of the weights are kept in; made when needed. */
  readonly manifestsDir: string;
  /** Whether the machine answers requests, before which digests stand back. */
  readonly isBusy?: () => boolean;
  /** Says of a failed file operation which folder is to blame, for the log. */
  readonly explain?: (error: FileError) => Promise<string>;
  /** Whether an engine computes with a model just now. */
  readonly isUsed?: (model: string) => boolean;
}

/** The models folder, watched. */
export interface ModelStore
  extends ModelInventory, ModelWeights, ModelCare, AsyncDisposable {
  /**
   * Look again, now. Resolves once a scan that began after the call has ended.
   * A scan that fails keeps the former picture and is logged, not thrown.
   */
  refresh(): Promise<void>;
  /**
   * Keep the digest of a file that was digested before it came here, so that
   * the next scan knows it at once.
   *
   * @param path Path from the models folder.
   * @param origin Where it was pulled from, where it was.
   * @throws {FileError} When it can not be kept.
   */
  adopt(path: string, digest: FileDigest, origin?: FileOrigin): Promise<void>;
  /**
   * Digest a model that is offered here now, and not in the background.
   *
   * @param model Name it is offered under.
   * @param signal Aborting it ends the work.
   * @returns First part first.
   * @throws {Fault} When there is no such model, or it can not be read.
   */
  digestNow(
    model: string,
    signal: AbortSignal,
  ): Promise<readonly FileDigest[]>;
  /**
   * Keep where a model's files were pulled from first.
   *
   * @param model Name it is offered under.
   * @param origins Of its files, first part first; null where it is not known.
   * @throws {FileError} When it can not be kept.
   */
  noteOrigins(
    model: string,
    origins: readonly (FileOrigin | null)[],
  ): Promise<void>;
  /** What goes with a model, as `ModelShelf` says. */
  companions(model: string): Promise<ModelManifest | null>;
  /** Read a chunk of what goes with a model, as `ModelShelf` says. */
  readCompanion(
    place: CompanionPlace,
    room?: Uint8Array<ArrayBuffer>,
  ): Promise<Uint8Array<ArrayBuffer> | null>;
  /** Resolves once every model found so far has its root, or can have none. */
  digested(): Promise<void>;
}

/**
 * Watch the models folder: at once, every 10 s, and on demand. A file is opened
 * only when it is new or its size or time has changed. Weights are digested in
 * the background; until then their root is null.
 *
 * @param options Ports and the folder.
 * @returns The store; its first picture is empty until `refresh` resolves.
 */
export function createModelStore(options: ModelStoreOptions): ModelStore {
  return new WatchedFolder(options);
}

/** The one writer of the inventory. */
class WatchedFolder implements ModelStore {
  readonly #options: ModelStoreOptions;
  readonly #closing = new AbortController();
  readonly #timer: Disposable;
  readonly #digests: ModelDigests;
  readonly #companions: CompanionFiles;
  #models: readonly LocalModel[] = [];
  /** Files of the models, by name. */
  #parts: ReadonlyMap<string, ModelFiles> = new Map();
  #invalid: readonly InvalidModel[] = [];
  /** Vision parts that lie beside a model, from the models folder. */
  #projectors: readonly GgufFile[] = [];
  #inspections = new Map<string, Inspection>();
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;
  #complaint: string | null = null;

  constructor(options: ModelStoreOptions) {
    this.#options = options;
    this.#digests = new ModelDigests({
      ...options,
      isBusy: () => options.isBusy?.() ?? false,
      onRoot: () => this.#takeRoots(),
    });
    this.#companions = new CompanionFiles(this.#digests);
    this.#running = this.#scan();
    this.#timer = options.clock.every(RESCAN_EVERY_MS, () => {
      this.#running ??= this.#scan();
    });
  }

  list(): readonly LocalModel[] {
    return this.#models;
  }

  invalid(): readonly InvalidModel[] {
    return this.#invalid;
  }

  async manifest(model: string): Promise<ModelManifest | null> {
    const offered = this.#models.find(({ name }) => name === model);
    const parts = this.#parts.get(model);
    if (offered === undefined || parts === undefined) return null;
    const digests = await this.#digests.recall(parts);
    if (digests === null) return null;
    const files = await Promise.all(
      parts.files.map(async (file, at) => {
        const origin = await this.#digests.originOf(file);
        const name = baseOf(file.path);
        const digest = digests[at] ?? EMPTY;
        return { name, ...digest, ...origin === null ? {} : { origin } };
      }),
    );
    const manifest = await makeManifest(offered, files);
    const companions = await this.#companionsOf(model);
    return companions === null
      ? manifest
      : { ...manifest, companions: companions.root };
  }

  async readChunk(
    model: string,
    file: number,
    chunk: number,
    room?: Uint8Array<ArrayBuffer>,
  ): Promise<Uint8Array<ArrayBuffer> | null> {
    const { files, modelsDir } = this.#options;
    const part = this.#parts.get(model)?.files[file];
    return await readFileChunk(files, modelsDir, part, chunk, room);
  }

  async companions(model: string): Promise<ModelManifest | null> {
    const companions = await this.#companionsOf(model);
    return companions === null ? null : manifestOfCompanions(model, companions);
  }

  async readCompanion(
    { chunk, file, model }: CompanionPlace,
    room?: Uint8Array<ArrayBuffer>,
  ): Promise<Uint8Array<ArrayBuffer> | null> {
    const { files, modelsDir } = this.#options;
    const found = (await this.#companionsOf(model))?.files[file]?.file;
    return await readFileChunk(files, modelsDir, found, chunk, room);
  }

  async verify(
    model: string,
    tell: (doneBytes: number) => void,
    signal: AbortSignal,
  ): Promise<ModelCheck> {
    const parts = this.#partsOf(model);
    try {
      const known = await this.#digests.recall(parts);
      if (known !== null) {
        return await verifyModel(parts, known, this.#digests, tell, signal);
      }
    } catch (error) {
      throw storageFault(error, `verify the model ${JSON.stringify(model)}`);
    }
    throw new Fault(
      "conflict",
      `The model ${
        JSON.stringify(model)
      } has no manifest yet; it is made in the background, ask again later`,
    );
  }

  partials(): Promise<readonly PartialFiles[]> {
    const { clock, files, modelsDir } = this.#options;
    return partialFiles(files, modelsDir, clock.now());
  }

  async remove(model: string): Promise<void> {
    const parts = this.#partsOf(model);
    const quoted = JSON.stringify(model);
    if (this.#options.isUsed?.(model)) {
      throw new Fault(
        "conflict",
        `The model ${quoted} is in use; remove it once its answers have ended`,
      );
    }
    const { files, log, modelsDir } = this.#options;
    try {
      const folder = housedIn(parts);
      const isAlone = [...this.#parts.values()].every((other) =>
        other === parts || housedIn(other) !== folder
      );
      await removeModelFiles(files, modelsDir, parts, {
        folder,
        along: isAlone
          ? this.#companionsIn(folder).map(({ path }) => path)
          : [],
      });
      await this.#digests.forget(parts);
    } catch (error) {
      throw storageFault(error, `remove the model ${quoted}`);
    } finally {
      await this.refresh();
    }
    log.info("Removed a model", { model });
  }

  async alias(model: string, name: string): Promise<void> {
    const parts = this.#partsOf(model);
    const aliases = aliasFiles(parts, name);
    const { files, log, modelsDir } = this.#options;
    if (hasName(parts, this.#parts.get(name))) return;
    try {
      const digests = await this.#digests.recall(parts);
      await linkAliases(files, modelsDir, aliases);
      for (const [at, { to }] of aliases.entries()) {
        const digest = digests?.[at];
        if (digest !== undefined) await this.adopt(to, digest);
      }
    } catch (error) {
      throw storageFault(error, `name the model ${JSON.stringify(model)}`);
    } finally {
      await this.refresh();
    }
    log.info("A model has a second name", { model, name });
  }

  async adopt(
    path: string,
    digest: FileDigest,
    origin?: FileOrigin,
  ): Promise<void> {
    const { files, modelsDir } = this.#options;
    const stat = await files.stat(`${modelsDir}/${path}`);
    const { identity, modifiedMs, sizeBytes } = stat;
    const file = { path, sizeBytes, modifiedMs, identity };
    await this.#digests.keep(file, digest);
    if (origin !== undefined) await this.#digests.keepOrigin(file, origin);
  }

  async digestNow(
    model: string,
    signal: AbortSignal,
  ): Promise<readonly FileDigest[]> {
    const { files } = this.#partsOf(model);
    const digests: FileDigest[] = [];
    try {
      for (const file of files) {
        const digest = await this.#digests.digest(file, signal);
        await this.#digests.keep(file, digest);
        digests.push(digest);
      }
    } catch (error) {
      throw storageFault(error, `verify the model ${JSON.stringify(model)}`);
    }
    await this.refresh();
    return digests;
  }

  async noteOrigins(
    model: string,
    origins: readonly (FileOrigin | null)[],
  ): Promise<void> {
    for (const [at, file] of this.#partsOf(model).files.entries()) {
      const origin = origins[at] ?? null;
      if (origin !== null) await this.#digests.keepOrigin(file, origin);
    }
  }

  async digested(): Promise<void> {
    await this.#running;
    await this.#digests.idle();
  }

  refresh(): Promise<void> {
    if (this.#running === null) return this.#running = this.#scan();
    // The running scan may have passed what the caller wants seen: all callers
    // meanwhile share the one after it.
    return this.#next ??= this.#running.then(() => {
      this.#next = null;
      return this.#running = this.#scan();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer[Symbol.dispose]();
    this.#closing.abort();
    await this.#next;
    await this.#running;
    await this.#digests[Symbol.asyncDispose]();
  }

  #companionsIn(folder: string): readonly GgufFile[] {
    return this.#projectors.filter(({ path }) => folderOf(path) === folder);
  }

  async #companionsOf(model: string): Promise<Companions | null> {
    const parts = this.#parts.get(model);
    return parts === undefined
      ? null
      : await this.#companions.of(this.#companionsIn(housedIn(parts)));
  }

  #partsOf(model: string): ModelFiles {
    const parts = this.#parts.get(model);
    if (parts !== undefined) return parts;
    throw new Fault(
      "model_not_found",
      `There is no model ${
        JSON.stringify(model.slice(0, 200))
      } in the models folder of this node`,
    );
  }

  async #scan(): Promise<void> {
    try {
      await this.#look();
      this.#complaint = null;
    } catch (error) {
      if (!this.#closing.signal.aborted) await this.#complain(error);
    } finally {
      this.#running = null;
    }
  }

  async #look(): Promise<void> {
    const { files, modelsDir } = this.#options;
    const { signal } = this.#closing;
    const scan = await this.#scanFolder();
    const inspections = new Map<string, Inspection>();
    for (const file of scan.files) {
      signal.throwIfAborted();
      const key = fileKeyOf(file);
      const known = this.#inspections.get(key);
      const kept = known !== undefined &&
        !(known.kind === "unsound" && known.transient);
      const path = `${modelsDir}/${file.path}`;
      inspections.set(
        key,
        kept ? known : await inspectFile(files, path, file.sizeBytes),
      );
    }
    this.#inspections = inspections;
    this.#publish(scan);
    // First what goes with a model: it is copied along from the start.
    await this.#digests.follow([
      ...this.#projectors.map(aloneOf),
      ...this.#parts.values(),
    ]);
    this.#takeRoots();
  }

  #takeRoots(): void {
    this.#models = this.#models.map((model) => {
      const parts = this.#parts.get(model.name);
      const root = parts === undefined ? null : this.#digests.rootOf(parts);
      return root === model.root ? model : { ...model, root };
    });
  }

  async #scanFolder(): Promise<FolderScan> {
    const { files, modelsDir } = this.#options;
    try {
      return await scanFolder(files, modelsDir, this.#closing.signal);
    } catch (error) {
      if (!(error instanceof FileError) || error.problem !== "missing") {
        throw error;
      }
      return { files: [], refused: [] };
    }
  }

  #publish(scan: FolderScan): void {
    const picture = pictureOf(scan, {
      modelsDir: this.#options.modelsDir,
      inspect: (file) => this.#inspections.get(fileKeyOf(file)),
      rootOf: (files) => this.#digests.rootOf(files),
    });
    this.#tell(picture.models, picture.invalid);
    this.#models = picture.models;
    this.#parts = picture.parts;
    this.#projectors = picture.projectors;
    this.#invalid = picture.invalid;
  }

  #tell(
    models: readonly LocalModel[],
    invalid: readonly InvalidModel[],
  ): void {
    const { log } = this.#options;
    const names = new Set(models.map(({ name }) => name));
    const known = new Set(this.#models.map(({ name }) => name));
    for (const { name, sizeBytes, architecture } of models) {
      if (known.has(name)) continue;
      log.info("Found a model", { model: name, sizeBytes, architecture });
    }
    for (const name of known) {
      if (!names.has(name)) log.info("A model is gone", { model: name });
    }
    const told = new Set(this.#invalid.map(sentence));
    for (const one of invalid) {
      if (told.has(sentence(one))) continue;
      log.warn("A file is no usable model", { ...one });
    }
  }

  async #complain(error: unknown): Promise<void> {
    const { explain } = this.#options;
    const reason = error instanceof FileError && explain !== undefined
      ? await explain(error)
      : error instanceof Error
      ? error.message
      : String(error);
    if (reason === this.#complaint) return;
    this.#complaint = reason;
    this.#options.log.warn("Failed to scan the models folder", { reason });
  }
}

/** Never met: digests are recalled for every file or for none. */
const EMPTY: FileDigest = { sizeBytes: 0, sha256: "", chunks: [] };

function aloneOf(file: GgufFile): ModelFiles {
  return { kind: "complete", name: file.path, files: [file] };
}

function sentence(invalid: InvalidModel): string {
  return `${invalid.name}: ${invalid.reason}`;
}
