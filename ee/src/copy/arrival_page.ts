import { z } from "zod";
import { parseBoundedJson } from "../link/bounded_json.ts";
import { WireError } from "../link/wire_error.ts";
import { sha256 } from "./gather.ts";

/** Arrivals of one page: of 2 GB. */
export const MOST_ARRIVALS = 512;
/** Room for a page. */
export const PAGE_LIMIT_BYTES = 128 * 1024;
const MOST_FILES = 1024;
const LARGEST_FILE_BYTES = 2 ** 40;

/** A chunk that lies at a member which pulls. */
export interface Arrival {
  /** Position of its file. */
  readonly file: number;
  /** Position of the chunk in the file. */
  readonly position: number;
  /** SHA-256 in lower-case hexadecimal. */
  readonly digest: string;
}

/**
 * A piece of the list of what has come to a member that pulls: the manifest of
 * its model, while it grows. Each page carries the hash of the whole list up to
 * its end, so that a list with something left out, repeated or changed is seen.
 */
export interface ArrivalPage {
  /** Names the list: another one where chunks that were in it count no more. */
  readonly run: string;
  /** How many arrivals came before this page. */
  readonly from: number;
  /** Sizes of the pull's files, in bytes. */
  readonly sizes: readonly number[];
  readonly arrivals: readonly Arrival[];
  /** Of the list up to this page's end, as `extendHash` makes it. */
  readonly hash: string;
}

const digest = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.number().int().min(0);
const pageSchema = z.object({
  v: z.literal(1),
  run: z.string().regex(/^[0-9a-f]{32}$/),
  from: count,
  sizes: z.array(z.number().int().min(1).max(LARGEST_FILE_BYTES)).min(1)
    .max(MOST_FILES),
  arrivals: z.array(z.tuple([count, count, digest])).max(MOST_ARRIVALS),
  hash: digest,
});

/** Hash of a list that nothing is in yet. */
export function emptyHash(run: string, sizes: readonly number[]): string {
  return sha256(new TextEncoder().encode(`1 ${run} ${sizes.join(" ")}`));
}

/** Hash of a list with one more arrival. */
export function extendHash(
  hash: string,
  { digest, file, position }: Arrival,
): string {
  const line = `${hash} ${file} ${position} ${digest}`;
  return sha256(new TextEncoder().encode(line));
}

/** Write a page for a member. */
export function encodePage(
  { arrivals, ...page }: ArrivalPage,
): Uint8Array<ArrayBuffer> {
  const listed = arrivals.map(({ digest, file, position }) => [
    file,
    position,
    digest,
  ]);
  return new TextEncoder().encode(
    JSON.stringify({ v: 1, ...page, arrivals: listed }),
  );
}

/**
 * Read a page from a member.
 *
 * @throws {WireError} When it is none.
 */
export function parsePage(bytes: Uint8Array): ArrivalPage {
  const parsed = pageSchema.safeParse(parseBoundedJson(bytes));
  if (!parsed.success) {
    throw new WireError("Cannot read what has come of a pull");
  }
  const { arrivals, from, hash, run, sizes } = parsed.data;
  return {
    run,
    from,
    sizes,
    hash,
    arrivals: arrivals.map(([file, position, digest]) => ({
      file,
      position,
      digest,
    })),
  };
}
