import type {
  FileDigest,
  JsonValue,
  LocalModel,
  ManifestFile,
  ModelManifest,
} from "../domain/mod.ts";

/**
 * Write JSON in its one canonical form: keys sorted by code unit, no spaces.
 * The numbers met here are integers, on whose form all writers agree.
 *
 * @param value What to write.
 */
export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value)
    .filter((entry): entry is [string, JsonValue] => entry[1] !== undefined)
    .sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0)
    .map(([key, field]) => `${JSON.stringify(key)}:${canonicalJson(field)}`);
  return `{${fields.join(",")}}`;
}

/**
 * Identify weights. Names are no part of it, so that one model under two names
 * has one root.
 *
 * @param files Digests of the model's files, first part first.
 * @returns SHA-256 of the canonical form, in hexadecimal.
 */
export async function rootOf(files: readonly FileDigest[]): Promise<string> {
  const text = canonicalJson({
    files: files.map(({ sizeBytes, sha256, chunks }) => ({
      sizeBytes,
      sha256,
      chunks,
    })),
    version: 1,
  });
  const bytes = new TextEncoder().encode(text);
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
