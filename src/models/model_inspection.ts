import type { LocalModel } from "../domain/mod.ts";
import { FileError, type Files } from "../platform/mod.ts";
import { GgufError } from "./gguf_error.ts";
import { type GgufHeader, readGgufHeader } from "./gguf_header.ts";
import { abilityOf } from "./model_ability.ts";
import type { GgufFile, ModelFiles } from "./model_files.ts";
import { quantisationOf } from "./quantisation.ts";

/** What opening one file showed. */
export type Inspection =
  | { readonly kind: "sound"; readonly header: GgufHeader }
  /** Wrong in itself, or (`transient`) not readable just now. */
  | {
    readonly kind: "unsound";
    readonly reason: string;
    readonly transient: boolean;
  };

/**
 * Read a file's header.
 *
 * @param files The file system.
 * @param path Where it lies.
 * @param sizeBytes Its size when it was found.
 * @returns Its header, or what is wrong with it.
 */
export async function inspectFile(
  files: Files,
  path: string,
  sizeBytes: number,
): Promise<Inspection> {
  try {
    using file = await files.open(path);
    return { kind: "sound", header: await readGgufHeader(file, sizeBytes) };
  } catch (error) {
    if (error instanceof GgufError) {
      return { kind: "unsound", reason: error.message, transient: false };
    }
    if (error instanceof FileError) {
      const reason = "The file can not be read";
      return { kind: "unsound", reason, transient: true };
    }
    throw error;
  }
}

/** A model as it is offered, or why it is not. */
export type Judgement =
  | { readonly kind: "model"; readonly model: LocalModel }
  /** The vision part of models that lie beside it. */
  | { readonly kind: "projector"; readonly reason: string }
  | { readonly kind: "invalid"; readonly reason: string };

/**
 * Judge a model by its parts' headers.
 *
 * @param root The models folder.
 * @param model Its files.
 * @param inspect What is known of a file.
 * @returns The model, or what is wrong with it.
 */
export function judgeModel(
  root: string,
  model: ModelFiles,
  inspect: (file: GgufFile) => Inspection,
): Judgement {
  const parts = model.files.length;
  let tensors = 0;
  for (const [at, file] of model.files.entries()) {
    const inspection = inspect(file);
    if (inspection.kind === "unsound") {
      const where = parts === 1 ? "" : `Part ${at + 1} of ${parts}: `;
      return { kind: "invalid", reason: where + inspection.reason };
    }
    tensors += inspection.header.tensorCount;
    const stated = inspection.header.splitCount ?? parts;
    if (parts > 1 && stated !== parts) {
      return {
        kind: "invalid",
        reason: `Part ${
          at + 1
        } says it is one of ${stated}, its name says ${parts}: the parts were renamed or mixed up`,
      };
    }
  }
  const [first] = model.files;
  const inspection = inspect(first);
  if (inspection.kind === "unsound") return invalid(inspection.reason);
  const { header } = inspection;
  if (header.architecture === null) {
    return invalid("The header does not say which architecture it is");
  }
  if (header.architecture === "clip" || header.type === "mmproj") {
    const reason =
      "The file is the vision part of another model: put it into a folder with that model alone";
    return { kind: "projector", reason };
  }
  if (header.type !== null && header.type !== "model") {
    return invalid(
      `The file is of type ${JSON.stringify(header.type)}, no model by itself`,
    );
  }
  if (tensors === 0) return invalid("The file has a header but no weights");
  if (header.contextLength === null || header.contextLength < 1) {
    return invalid("The header does not say the model's context length");
  }
  return {
    kind: "model",
    model: {
      name: model.name,
      path: `${root}/${first.path}`,
      sizeBytes: model.files.reduce((sum, file) => sum + file.sizeBytes, 0),
      architecture: header.architecture,
      contextLength: header.contextLength,
      ...abilityOf(header),
      root: null,
      quantisation: quantisationOf(header.fileType),
      shape: header.shape,
    },
  };
}

function invalid(reason: string): Judgement {
  return { kind: "invalid", reason };
}
