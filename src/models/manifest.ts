import {
  type FileDigest,
  type LocalModel,
  type ManifestFile,
  type ModelManifest,
  rootTextOf,
} from "../domain/mod.ts";

/**
 * Identify weights. Names are no part of it, so that one model under two names
 * has one root.
 *
 * @param files Digests of the model's files, first part first.
 * @returns SHA-256 of the canonical form, in hexadecimal.
 */
export async function rootOf(files: readonly FileDigest[]): Promise<string> {
  const bytes = new TextEncoder().encode(rootTextOf(files));
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return new Uint8Array(digest).toHex();
}

/**
 * Say what a model is made of.
 *
 * @param model The model as it is offered.
 * @param files Its files, first part first.
 */
export async function makeManifest(
  model: LocalModel,
  files: readonly ManifestFile[],
): Promise<ModelManifest> {
  return {
    model: model.name,
    root: await rootOf(files),
    files,
    architecture: model.architecture,
    contextLength: model.contextLength,
    quantisation: model.quantisation ?? null,
  };
}
