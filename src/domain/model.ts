import type { Capability, ModelFeature } from "./capability.ts";
import type { Derivation, FileOrigin, ModelManifest } from "./manifest.ts";
import type { MadeWeights } from "./model_conversions.ts";

/** The numbers of a header that tell how much memory a context takes. */
export interface ModelShape {
  /** Layers that keep what they saw. */
  readonly layers: number;
  /** Width of the stream between layers. */
  readonly width: number;
  /** Numbers that one layer keeps of one token: keys and values of all its heads. */
  readonly keptPerToken: number;
  /** Words of the vocabulary; 0 where the header does not say. */
  readonly vocabulary: number;
}

/** A model whose weights lie on this machine and whose header was found sound. */
export interface LocalModel {
  /** Name it is offered under, made from the file's name. */
  readonly name: string;
  /** The file an engine opens (the first one of a split model). */
  readonly path: string;
  /** Size of all its files. */
  readonly sizeBytes: number;
  /** `general.architecture` of the GGUF header. */
  readonly architecture: string;
  /** Context the model was trained for, in tokens. */
  readonly contextLength: number;
  /** What it can be asked for. */
  readonly capabilities: readonly Capability[];
  /** What it can do beyond that. */
  readonly features: readonly ModelFeature[];
  /** Identifies the weights, or null until they were digested. */
  readonly root: string | null;
  /** For example `Q4_K_M`; null where the header does not say. */
  readonly quantisation?: string | null;
  /** What its memory is estimated from; null or absent where the header does not say. */
  readonly shape?: ModelShape | null;
}

/** A file that looks like a model and is none. */
export interface InvalidModel {
  /** Name of the file. */
  readonly name: string;
  /** What is wrong with it and what to do. */
  readonly reason: string;
}

/** Names that an operator declared to mean one model, with fallbacks. */
export interface ModelSet {
  /** What callers ask for; `*` stands for any text. */
  readonly name: string;
  /** Sets of engines' names for it, the one to use first at the front; `*` stands for any text. */
  readonly tiers: readonly (readonly string[])[];
}

/** What the models folder holds. One writer: the store. */
export interface ModelInventory {
  /** Sound models, sorted by name. */
  list(): readonly LocalModel[];
  /** Files that were refused, sorted by name. */
  invalid(): readonly InvalidModel[];
}

/** The bytes of the models that lie here, for whoever copies or checks them. */
export interface ModelWeights {
  /**
   * What a model is made of.
   *
   * @param model Name it is offered under.
   * @returns Null where there is no such model, or its digests are not made yet.
   */
  manifest(model: string): Promise<ModelManifest | null>;
  /**
   * Read one chunk of `CHUNK_BYTES`. The bytes are as they lie on disk: who
   * sends them on compares them with the manifest.
   *
   * @param model Name it is offered under.
   * @param file Position of the file in the manifest.
   * @param chunk Position of the chunk in the file.
   * @param room Memory for a chunk that may be used for the result, in place of new.
   * @returns Null where there is none.
   * @throws {Error} When the file can not be read.
   */
  readChunk(
    model: string,
    file: number,
    chunk: number,
    room?: Uint8Array<ArrayBuffer>,
  ): Promise<Uint8Array<ArrayBuffer> | null>;
}

/** Where a file lies among those that go with a model. */
export interface CompanionPlace {
  /** Name the model is offered under. */
  readonly model: string;
  /** Position of the file in the manifest of its companions. */
  readonly file: number;
  /** Position of the chunk in the file. */
  readonly chunk: number;
}

/** The models folder, as the cluster copies out of it and into it. */
export interface ModelShelf extends ModelWeights {
  /** Where models lie. What begins with a dot there is passed over. */
  readonly folder: string;
  /** Sound models, sorted by name. */
  list(): readonly LocalModel[];
  /** Look again, now. */
  refresh(): Promise<void>;
  /**
   * What goes with a model and is no part of its weights: a vision part, say.
   * It has a root of its own, so that the model's stays what it is.
   *
   * @param model Name it is offered under.
   * @returns Null where there is nothing, or its digests are not made yet.
   */
  companions?(model: string): Promise<ModelManifest | null>;
  /**
   * Read one chunk of what goes with a model, as `readChunk` does.
   *
   * @param place Where it lies.
   * @param room Memory for a chunk that may be used for the result.
   * @returns Null where there is none.
   * @throws {Error} When the file can not be read.
   */
  readCompanion?(
    place: CompanionPlace,
    room?: Uint8Array<ArrayBuffer>,
  ): Promise<Uint8Array<ArrayBuffer> | null>;
  /**
   * Keep where a model's files were pulled from first.
   *
   * @param model Name it is offered under.
   * @param origins Of its files, first part first; null where it is not known.
   * @throws {FileError} When it can not be kept.
   */
  noteOrigins?(
    model: string,
    origins: readonly (FileOrigin | null)[],
  ): Promise<void>;
  /**
   * Make a derived file anew from its original. Absent where nothing is made.
   *
   * @param derivation How it was made.
   * @returns Null where the original is not here, or its recipe is not known.
   * @throws {Error} When the original can not be read, or nothing can be made of it.
   */
  remake?(derivation: Derivation): Promise<MadeWeights | null>;
}
