import {
  CHUNK_BYTES,
  type ModelManifest,
  rootTextOf,
} from "@covey/core/domain";
import { z } from "zod";
import { parseBoundedJson } from "../link/bounded_json.ts";
import { WireError } from "../link/wire_error.ts";
import { sha256 } from "./gather.ts";

/** Room for a model of about a terabyte. */
export const MANIFEST_LIMIT_BYTES = 24 * 1024 * 1024;
const MOST_FILES = 999;
const LARGEST_FILE_BYTES = 2 ** 40;

const digest = z.string().regex(/^[0-9a-f]{64}$/);
const originSchema = z.object({
  source: z.string().min(1).max(2048),
  path: z.string().max(1024).nullable(),
  revision: z.string().max(100).nullable(),
  etag: z.string().max(300).nullable(),
  sha256: digest.nullable(),
  derived: z.object({
    from: digest,
    recipe: z.string().min(1).max(200),
    tookMs: z.number().min(0),
  }).nullable().catch(null).exactOptional(),
});
const manifestSchema = z.object({
  model: z.string().min(1).max(300),
  root: digest,
  files: z.array(z.object({
    name: z.string().max(1024),
    sizeBytes: z.number().int().min(1).max(LARGEST_FILE_BYTES),
    sha256: digest,
    chunks: z.array(digest).min(1),
    // What a newer version notes of it is no reason to refuse the bytes.
    origin: originSchema.nullable().catch(null).default(null),
  })).min(1).max(MOST_FILES),
  architecture: z.string().max(300),
  contextLength: z.number().int().min(0),
  quantisation: z.string().max(100).nullable(),
  companions: digest.exactOptional(),
});

/**
 * Read a manifest from a peer, for a root that was fixed before.
 *
 * @param bytes What came, already bounded.
 * @param root What it must come to.
 * @throws {WireError} When it is none, contradicts itself, or is another root's.
 */
export function parseManifest(bytes: Uint8Array, root: string): ModelManifest {
  const parsed = manifestSchema.safeParse(parseBoundedJson(bytes));
  if (!parsed.success) {
    const path = parsed.error.issues[0]?.path.join(".") ?? "";
    throw new WireError(`Cannot read a manifest: "${path}" is wrong`);
  }
  const manifest = parsed.data;
  for (const { chunks, sizeBytes } of manifest.files) {
    if (chunks.length !== Math.ceil(sizeBytes / CHUNK_BYTES)) {
      throw new WireError("A manifest's sizes and chunks contradict");
    }
  }
  if (manifest.root !== root || rootOfFiles(manifest.files) !== root) {
    throw new WireError("A manifest is not that of the root asked for");
  }
  return manifest;
}

/** Write a manifest for a peer. */
export function encodeManifest(
  manifest: ModelManifest,
): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(manifest));
}

/** The root of weights, in hexadecimal. */
export function rootOfFiles(files: ModelManifest["files"]): string {
  return sha256(new TextEncoder().encode(rootTextOf(files)));
}
