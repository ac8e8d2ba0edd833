import { z } from "zod";
import { encodeJson, parseBoundedJson } from "../link/bounded_json.ts";
import { WireError } from "../link/wire_error.ts";
import type { Door } from "./door.ts";
import { parseDoor } from "./door_wire.ts";
import { type MemberRow, parseMemberRow } from "./member_row.ts";

const MOST_TOLD = 64;

/** News that a member tells the others at once, without waiting to be asked. */
export interface TellMessage {
  readonly rows: readonly MemberRow[];
  readonly door: Door;
}

const tellSchema = z.object({
  rows: z.array(z.unknown()).max(MOST_TOLD).transform((rows) =>
    rows.flatMap((row) => parseMemberRow(row) ?? [])
  ),
  door: z.unknown().optional().transform(parseDoor),
});

/** Write news. */
export function encodeTell(news: TellMessage): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(encodeJson({ v: 1, ...news }));
}

/**
 * Read news.
 *
 * @param bytes The body, already bounded.
 * @throws {WireError} When it is none.
 */
export function parseTell(bytes: Uint8Array): TellMessage {
  const parsed = tellSchema.safeParse(parseBoundedJson(bytes));
  if (parsed.success) return parsed.data;
  throw new WireError("Cannot read a member's news: its form is unknown");
}
