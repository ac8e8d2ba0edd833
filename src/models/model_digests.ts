import type { FileDigest, FileOrigin, Log } from "../domain/mod.ts";
import { type Clock, FileError, type Files } from "../platform/mod.ts";
import { DigestCache } from "./digest_cache.ts";
import { digestFile } from "./digest_file.ts";
import { rootOf } from "./manifest.ts";
import { fileKeyOf, type GgufFile, type ModelFiles } from "./model_files.ts";

/** Wait before each chunk of 4 MiB while the machine answers requests. */
const BUSY_PACE_MS = 500;

/** What digests are made from. */
export interface ModelDigestsOptions {
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  /** Folder with the weights. */
  readonly modelsDir: string;
  /** Folder that digests are kept in. */
  readonly manifestsDir: string;
  /** Whether the machine has better things to do. */
  isBusy(): boolean;
  /** Called when a root was found in the background. */
  onRoot(): void;
}

/**
 * Digests of the models that lie here: recalled from disk at once, made in the
 * background one file at a time. One writer of the cache.
 */
export class ModelDigests implements AsyncDisposable {
  readonly #options: ModelDigestsOptions;
  readonly #cache: DigestCache;
  readonly #closing = new AbortController();
  /** Root by the key of the model's files. */
  #roots = new Map<string, string>();
  /** Files that could not be digested as they are. */
  readonly #failed = new Set<string>();
  #wanted: readonly ModelFiles[] = [];
  #working: Promise<void> | null = null;

  constructor(options: ModelDigestsOptions) {
    this.#options = options;
    this.#cache = new DigestCache(options.files, options.manifestsDir);
  }

  /** Root of a model, or null while it is not known. */
  rootOf(model: ModelFiles): string | null {
    return this.#roots.get(modelKeyOf(model)) ?? null;
  }

  /**
   * Digests of a model's files, as they are kept.
   *
   * @returns Null where one is not known.
   * @throws {FileError} When the cache can not be read.
   */
  async recall(model: ModelFiles): Promise<readonly FileDigest[] | null> {
    const digests: FileDigest[] = [];
    for (const file of model.files) {
      const digest = await this.#cache.read(fileKeyOf(file));
      if (digest?.sizeBytes !== file.sizeBytes) return null;
      digests.push(digest);
    }
    return digests;
  }

  /**
   * Take notice of the models that are here: roots of those that were digested
   * before are known once this resolves, those of others are made later.
   *
   * @param models All of them; what is not among them is forgotten.
   */
  async follow(models: readonly ModelFiles[]): Promise<void> {
    const roots = new Map<string, string>();
    for (const model of models) {
      const key = modelKeyOf(model);
      const root = this.#roots.get(key) ?? await this.#recallRoot(model);
      if (root !== null) roots.set(key, root);
    }
    this.#roots = roots;
    this.#wanted = models.filter((model) => this.rootOf(model) === null);
    if (this.#closing.signal.aborted) return;
    this.#working ??= this.#work().finally(() => {
      this.#working = null;
    });
  }

  /**
   * Digest a file anew, whatever is known of it.
   *
   * @param file The file.
   * @param signal Aborting it ends the work.
   * @param tell Called before each chunk with the bytes done.
   * @throws {FileError} When it can not be read.
   */
  digest(
    file: GgufFile,
    signal: AbortSignal,
    tell: (doneBytes: number) => void = () => {},
  ): Promise<FileDigest> {
    const { files, modelsDir } = this.#options;
    const ends = AbortSignal.any([signal, this.#closing.signal]);
    return digestFile(
      files,
      `${modelsDir}/${file.path}`,
      (doneBytes) => {
        tell(doneBytes);
        return this.#pace(ends);
      },
      ends,
    );
  }

  /**
   * Forget the digests of a model that is no more.
   *
   * @throws {FileError} When they can not be removed.
   */
  async forget(model: ModelFiles): Promise<void> {
    for (const file of model.files) await this.#cache.remove(fileKeyOf(file));
  }

  /**
   * Keep the digest of a file that was digested on its way here.
   *
   * @throws {FileError} When it can not be written.
   */
  async keep(file: GgufFile, digest: FileDigest): Promise<void> {
    await this.#cache.write(fileKeyOf(file), digest);
  }

  /**
   * Keep where a file was pulled from.
   *
   * @throws {FileError} When it can not be written.
   */
  async keepOrigin(file: GgufFile, origin: FileOrigin): Promise<void> {
    await this.#cache.writeOrigin(fileKeyOf(file), origin);
  }

  /**
   * Where a file was pulled from, or null where that is not known.
   *
   * @throws {FileError} When the cache can not be read.
   */
  async originOf(file: GgufFile): Promise<FileOrigin | null> {
    return await this.#cache.readOrigin(fileKeyOf(file));
  }

  /** Resolves once nothing is left to digest. */
  async idle(): Promise<void> {
    await this.#working;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#working;
  }

  async #recallRoot(model: ModelFiles): Promise<string | null> {
    try {
      const digests = await this.recall(model);
      return digests === null ? null : await rootOf(digests);
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      this.#options.log.debug("Failed to recall a digest", {
        model: model.name,
        reason: error.message,
      });
      return null;
    }
  }

  async #work(): Promise<void> {
    const { log, onRoot } = this.#options;
    try {
      for (;;) {
        const model = this.#wanted.find((one) =>
          this.rootOf(one) === null && !this.#failed.has(modelKeyOf(one))
        );
        if (model === undefined) return;
        const root = await this.#rootFor(model);
        if (root === null) {
          this.#failed.add(modelKeyOf(model));
          continue;
        }
        this.#roots.set(modelKeyOf(model), root);
        onRoot();
      }
    } catch (error) {
      if (!this.#closing.signal.aborted) {
        log.error("Failed to digest models", {
          reason: error instanceof Error ? error.message : String(error),
        });
      }
    }
  }

  /** Null when a file changed meanwhile or could not be read: it gets no root as it is. */
  async #rootFor(model: ModelFiles): Promise<string | null> {
    const { log } = this.#options;
    const digests: FileDigest[] = [];
    for (const file of model.files) {
      try {
        const digest = await this.#fresh(file);
        if (digest === null) return null;
        digests.push(digest);
      } catch (error) {
        if (!(error instanceof FileError)) throw error;
        const fields = { model: model.name, reason: error.message };
        log.warn("Failed to digest a model", fields);
        return null;
      }
    }
    return await rootOf(digests);
  }

  async #fresh(file: GgufFile): Promise<FileDigest | null> {
    const { files, modelsDir } = this.#options;
    const key = fileKeyOf(file);
    const kept = await this.#cache.read(key);
    if (kept !== null && kept.sizeBytes === file.sizeBytes) return kept;
    const digest = await this.digest(file, this.#closing.signal);
    const after = await files.stat(`${modelsDir}/${file.path}`);
    if (
      digest.sizeBytes !== file.sizeBytes ||
      fileKeyOf({ ...after, path: file.path }) !== key
    ) return null;
    await this.#cache.write(key, digest);
    return digest;
  }

  async #pace(signal: AbortSignal): Promise<void> {
    if (!this.#options.isBusy()) return;
    await this.#options.clock.sleep(BUSY_PACE_MS, signal);
  }
}

function modelKeyOf(model: ModelFiles): string {
  return model.files.map(fileKeyOf).join("\n");
}
