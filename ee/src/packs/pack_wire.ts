import { z } from "zod";
import { parseBoundedJson } from "../link/bounded_json.ts";
import { WireError } from "../link/wire_error.ts";
import { PACKS_PATH } from "./packs_path.ts";

/** Bytes of an archive that one answer holds. */
export const PIECE_BYTES = 1024 * 1024;
/** Most archives that a member may say it has. */
const MOST_ARCHIVES = 64;
const DIGEST_BYTES = 64;

const integrities = z.array(z.string().max(200)).max(MOST_ARCHIVES);
const heldSchema = z.object({
  archives: integrities,
  // Members of an older release say nothing of it.
  unkept: integrities.default([]),
});

/** What a member says of the archives of packs. */
export interface PacksHeld {
  /** Integrities of those that it has whole. */
  readonly held: ReadonlySet<string>;
  /** Of those that it used and did not keep. */
  readonly unkept: ReadonlySet<string>;
}

/** A piece of an archive: the how manieth mebibyte of which. */
export interface PackPiece {
  /** Subresource integrity of the archive. */
  readonly integrity: string;
  /** Counted from 0. */
  readonly index: number;
}

/** Write the path at which a piece is asked for. */
export function formatPiecePath({ index, integrity }: PackPiece): string {
  const base64 = integrity.slice("sha512-".length);
  const digest = Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
  return `${PACKS_PATH}/${digest.toHex()}/${index}`;
}

/**
 * Read such a path.
 *
 * @returns Undefined where it is none.
 */
export function parsePiecePath(path: string): PackPiece | undefined {
  const [, hex, index] = /^([0-9a-f]{128})\/(\d{1,5})$/
    .exec(path.slice(PACKS_PATH.length + 1)) ?? [];
  if (hex === undefined || index === undefined) return undefined;
  const digest = new Uint8Array(DIGEST_BYTES);
  digest.setFromHex(hex);
  return { integrity: `sha512-${digest.toBase64()}`, index: Number(index) };
}

/** Write which archives are here. */
export function encodeHeld(
  archives: readonly string[],
  unkept: readonly string[],
): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(
    JSON.stringify({
      archives: archives.slice(0, MOST_ARCHIVES),
      unkept: unkept.slice(0, MOST_ARCHIVES),
    }),
  );
}

/**
 * Read which archives a member has.
 *
 * @param bytes The body, already bounded.
 * @throws {WireError} When it does not say.
 */
export function parseHeld(bytes: Uint8Array): PacksHeld {
  const parsed = heldSchema.safeParse(parseBoundedJson(bytes));
  if (parsed.success) {
    const { archives, unkept } = parsed.data;
    return { held: new Set(archives), unkept: new Set(unkept) };
  }
  throw new WireError("Cannot read which engine packs a member has");
}
