import {
  CHUNK_BYTES,
  type LocalModel,
  type ModelManifest,
  type ModelShelf,
} from "@covey/core/domain";
import { FileError, type MemoryFiles } from "@covey/core/platform";
import { rootOfFiles } from "../../src/copy/copy_manifest.ts";
import { sha256 } from "../../src/copy/gather.ts";

/** Where models lie in memory. */
export const MODELS = "/models";

/** A models folder in memory: every `.gguf` in it is a model, whatever its bytes. */
export class MemoryShelf implements ModelShelf {
  readonly folder = MODELS;
  readonly #files: MemoryFiles;
  #manifests = new Map<string, ModelManifest>();
  #paths = new Map<string, string>();

  constructor(files: MemoryFiles) {
    this.#files = files;
  }

  list(): readonly LocalModel[] {
    return [...this.#manifests.values()].map((
      { contextLength, files, model, root },
    ) => ({
      name: model,
      path: this.#paths.get(model) ?? "",
      sizeBytes: files[0]?.sizeBytes ?? 0,
      architecture: "llama",
      contextLength,
      capabilities: ["chat"],
      features: [],
      root,
    }));
  }

  async refresh(): Promise<void> {
    this.#manifests = new Map();
    await this.#walk(MODELS);
  }

  manifest(model: string): Promise<ModelManifest | null> {
    return Promise.resolve(this.#manifests.get(model) ?? null);
  }

  async readChunk(
    model: string,
    _file: number,
    chunk: number,
  ): Promise<Uint8Array<ArrayBuffer> | null> {
    const path = this.#paths.get(model);
    if (path === undefined) return null;
    const bytes = await this.#files.readBytes(path);
    return bytes.slice(chunk * CHUNK_BYTES, (chunk + 1) * CHUNK_BYTES);
  }

  async #walk(folder: string): Promise<void> {
    for (const { kind, name } of await this.#entries(folder)) {
      const path = `${folder}/${name}`;
      if (name.startsWith(".")) continue;
      if (kind === "folder") await this.#walk(path);
      else if (name.endsWith(".gguf")) await this.#take(path, name);
    }
  }

  async #entries(folder: string) {
    try {
      return await this.#files.list(folder);
    } catch (error) {
      if (error instanceof FileError) return [];
      throw error;
    }
  }

  async #take(path: string, name: string): Promise<void> {
    const bytes = await this.#files.readBytes(path);
    const chunks: string[] = [];
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
      chunks.push(sha256(bytes.subarray(at, at + CHUNK_BYTES)));
    }
    const files = [{
      name,
      sizeBytes: bytes.length,
      sha256: sha256(bytes),
      chunks,
    }];
    const model = name.slice(0, -".gguf".length);
    this.#paths.set(model, path);
    this.#manifests.set(model, {
      model,
      root: rootOfFiles(files),
      files,
      architecture: "llama",
      contextLength: 2048,
      quantisation: null,
    });
  }
}
