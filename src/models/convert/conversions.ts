import {
  type ConversionOutcome,
  type ConversionRequest,
  type ConversionView,
  type Derivation,
  Fault,
  type LocalModel,
  type Log,
  type MadeWeights,
  type ModelConversions,
  type ModelManifest,
} from "../../domain/mod.ts";
import type { Entropy } from "../../platform/mod.ts";
import { GgufError } from "../gguf_error.ts";
import { folderOf } from "../model_files.ts";
import type { ModelStore } from "../model_store.ts";
import { PARTIAL_FOLDER } from "../pull/partial_folder.ts";
import { isThere, makeFolders } from "../pull/pull_place.ts";
import { checkNewName } from "../safe_name.ts";
import { storageFault } from "../storage_fault.ts";
import { CONVERSION_PREFIX } from "./conversion_folder.ts";
import type { JobPorts } from "./conversion_job.ts";
import { viewOf } from "./conversion_view.ts";
import { nameOfMade, type Recipe, RECIPES } from "./recipes.ts";

/** Conversions that may wait for another one to end. */
const MOST_WAITING = 8;

/** What conversions need. */
export interface ConversionsOptions extends JobPorts {
  readonly entropy: Entropy;
  readonly log: Log;
  readonly store: Pick<
    ModelStore,
    "adopt" | "digestNow" | "list" | "manifest" | "refresh"
  >;
  readonly modelsDir: string;
}

/** Conversions, and their end. */
export interface OwnedConversions extends ModelConversions, AsyncDisposable {
  /** See `ModelShelf`. */
  remake(derivation: Derivation): Promise<MadeWeights | null>;
}

/**
 * Make the one place where models are converted; one after the other, since
 * each uses disk and processor as far as they go.
 *
 * @param options What they need.
 */
export function createConversions(
  options: ConversionsOptions,
): OwnedConversions {
  return new Conversions(options);
}

/** An original, and where what is made of it goes. */
interface Task {
  readonly recipe: Recipe;
  readonly name: string;
  readonly original: LocalModel;
  readonly manifest: ModelManifest;
}

class Conversions implements OwnedConversions {
  readonly #options: ConversionsOptions;
  readonly #closing = new AbortController();
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(options: ConversionsOptions) {
    this.#options = options;
  }

  async convert(
    request: ConversionRequest,
    tell: (view: ConversionView) => void,
    signal: AbortSignal,
  ): Promise<ConversionOutcome> {
    const recipe = recipeFor(request.to);
    const name = request.name ?? nameOfMade(request.model, recipe);
    checkNewName(name, "as");
    this.#original(request.model);
    if (this.#waiting > MOST_WAITING) {
      throw new Fault(
        "conflict",
        `${MOST_WAITING} conversions wait already; ask again later`,
      );
    }
    tell(viewOf("waiting"));
    const ends = AbortSignal.any([signal, this.#closing.signal]);
    this.#waiting++;
    const done = this.#turn.then(() => {
      ends.throwIfAborted();
      return this.#convert(request.model, name, recipe, tell, ends);
    }).finally(() => this.#waiting--);
    // Its own caller hears of a failure.
    this.#turn = done.catch(() => {});
    return await done;
  }

  async remake({ from, recipe }: Derivation): Promise<MadeWeights | null> {
    const { files, store } = this.#options;
    const original = store.list().find(({ root }) => root === from);
    const isKnown = RECIPES.some(({ id }) => id === recipe);
    if (original === undefined || !isKnown) return null;
    const manifest = await store.manifest(original.name);
    if (manifest?.root !== from) return null;
    const { ConvertedFile } = await import("./converted_file.ts");
    const made = await ConvertedFile.open(files, pathsOf(original, manifest));
    return {
      original: original.name,
      sizeBytes: made.sizeBytes,
      readInto: (offset, room) => made.readInto(offset, room),
      [Symbol.dispose]: () => made[Symbol.dispose](),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(
      new DOMException("The node is stopping", "AbortError"),
    );
    await this.#turn;
  }

  async #convert(
    model: string,
    name: string,
    recipe: Recipe,
    tell: (view: ConversionView) => void,
    signal: AbortSignal,
  ): Promise<ConversionOutcome> {
    try {
      const manifest = await this.#manifestOf(model, tell, signal);
      const original = this.#original(model);
      const task = { recipe, name, original, manifest };
      const outcome = await this.#make(task, tell, signal);
      const { log } = this.#options;
      log.info("Converted a model", {
        model: outcome.model,
        from: model,
        sizeBytes: outcome.sizeBytes,
        tookMs: outcome.derivation.tookMs,
      });
      return outcome;
    } catch (error) {
      if (error instanceof GgufError) {
        throw new Fault("invalid_request", error.message, { param: "model" });
      }
      throw storageFault(error, `convert the model ${JSON.stringify(model)}`);
    }
  }

  /** What a model is made of; digested now where it was not yet. */
  async #manifestOf(
    model: string,
    tell: (view: ConversionView) => void,
    signal: AbortSignal,
  ): Promise<ModelManifest> {
    const { store } = this.#options;
    const known = await store.manifest(model);
    if (known !== null) return known;
    tell(viewOf("digesting"));
    await store.digestNow(model, signal);
    const made = await store.manifest(model);
    if (made !== null) return made;
    throw new Fault(
      "conflict",
      `The model ${JSON.stringify(model)} was changed meanwhile; ask again`,
    );
  }

  async #make(
    { manifest, name, original, recipe }: Task,
    tell: (view: ConversionView) => void,
    signal: AbortSignal,
  ): Promise<ConversionOutcome> {
    const { entropy, files, modelsDir, store } = this.#options;
    // Beside the original, whose vision part is then its own as well.
    const folder = folderOf(original.path);
    const path = `${folder}/${name}.gguf`;
    await this.#checkPlace(name, path);
    const steps = [PARTIAL_FOLDER, `${CONVERSION_PREFIX}${entropy.uuid()}`];
    await makeFolders(files, modelsDir, steps);
    const partial = [modelsDir, ...steps].join("/");
    try {
      const { makeFile } = await import("./conversion_job.ts");
      const part = `${partial}/${name}.gguf.part`;
      const from = pathsOf(original, manifest);
      const { digest, tookMs } = await makeFile(
        this.#options,
        from,
        part,
        tell,
        signal,
      );
      await this.#checkPlace(name, path);
      await files.rename(part, path);
      const derivation = { from: manifest.root, recipe: recipe.id, tookMs };
      await store.adopt(path.slice(modelsDir.length + 1), digest, {
        source: original.name,
        path: null,
        revision: null,
        etag: null,
        sha256: null,
        derived: derivation,
      });
      await store.refresh();
      return {
        model: name,
        sizeBytes: digest.sizeBytes,
        originalBytes: original.sizeBytes,
        derivation,
      };
    } finally {
      await files.remove(partial);
    }
  }

  async #checkPlace(name: string, path: string): Promise<void> {
    const { files, store } = this.#options;
    const isTaken = store.list().some((one) => one.name === name) ||
      await isThere(files, path);
    if (!isTaken) return;
    throw new Fault(
      "conflict",
      `A model ${
        JSON.stringify(name)
      } lies here already; remove it first, or give another name`,
    );
  }

  #original(model: string): LocalModel {
    const { store } = this.#options;
    const found = store.list().find(({ name }) => name === model);
    if (found !== undefined) return found;
    throw new Fault(
      "model_not_found",
      `There is no model ${
        JSON.stringify(model.slice(0, 200))
      } in the models folder of this node`,
      { param: "model" },
    );
  }
}

function recipeFor(to: string): Recipe {
  const recipe = RECIPES.find((one) => one.to === to.toLowerCase());
  if (recipe !== undefined) return recipe;
  throw new Fault(
    "invalid_request",
    `There is no way to make ${JSON.stringify(to.slice(0, 40))}; there is ${
      RECIPES.map((one) => one.to).join(", ")
    }`,
    { param: "to" },
  );
}

/** The parts of a model lie in one folder. */
function pathsOf(
  { path }: LocalModel,
  { files }: ModelManifest,
): readonly string[] {
  return files.map(({ name }) => `${folderOf(path)}/${name}`);
}
