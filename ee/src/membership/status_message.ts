import type { WorkReport } from "@covey/core/domain";
import { z } from "zod";
import { type KeyHash, parseKeyHash } from "../identity/key_hash.ts";
import { encodeJson, parseBoundedJson } from "../link/bounded_json.ts";
import type { LinkAddress } from "../link/link_address.ts";
import { parseWorkReport } from "../link/work_wire.ts";
import { WireError } from "../link/wire_error.ts";
import type { Door } from "./door.ts";
import { parseDoor } from "./door_wire.ts";
import { cleanName, type MemberRow, parseMemberRow } from "./member_row.ts";
import { MOST_ROWS } from "./member_table.ts";

/** Most bytes of a status. */
export const STATUS_LIMIT_BYTES = 2 ** 20;
const MOST_ADDRESSES = 64;
/**
 * Version of what members say to each other. It is raised only by a change that
 * an older build would misread; fields that it may ignore are added without.
 */
const PROTOCOL_VERSION = 1;
const versionSchema = z.object({ v: z.number().int() });

/** Where a member was met by who sends this. */
export interface PassedAddresses {
  readonly keyHash: KeyHash;
  readonly addresses: readonly LinkAddress[];
}

/** What a member says of itself, asked every 2 s. */
export interface StatusMessage {
  /** Version of Covey it runs. */
  readonly version: string;
  /** Drawn at its start. */
  readonly bootId: string;
  readonly name: string;
  readonly linkPort: number;
  readonly draining: boolean;
  /** Its rows; empty when the asker's digest says that it has them. */
  readonly rows: readonly MemberRow[];
  readonly addresses: readonly PassedAddresses[];
  readonly door: Door;
  readonly work: WorkReport;
}

const addressSchema = z.object({
  // An IP literal: names are for operators to say, not for peers.
  host: z.string().regex(/^[0-9a-fA-F.:]{2,45}$/),
  port: z.number().int().min(1).max(65535),
});

const statusSchema = z.object({
  version: z.string().max(64),
  bootId: z.string().min(1).max(64),
  name: z.string().transform(cleanName),
  linkPort: z.number().int().min(1).max(65535),
  draining: z.boolean().default(false),
  rows: z.array(z.unknown()).max(MOST_ROWS).default([]).transform((rows) =>
    rows.flatMap((row) => parseMemberRow(row) ?? [])
  ),
  addresses: z.array(z.unknown()).default([]).transform((all) =>
    all.slice(0, MOST_ADDRESSES).flatMap((one) => parsePassed(one) ?? [])
  ),
  door: z.unknown().optional().transform(parseDoor),
  work: z.unknown().transform((value, context) => {
    const work = parseWorkReport(value);
    if (work !== undefined) return work;
    context.addIssue({ code: "custom", message: "wrong form" });
    return z.NEVER;
  }),
});

/** Write a status. */
export function encodeStatus(status: StatusMessage): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(encodeJson({
    v: PROTOCOL_VERSION,
    ...status,
    addresses: status.addresses.slice(0, MOST_ADDRESSES),
  }));
}

/**
 * Read a peer's status. Unknown fields are ignored and unreadable rows left
 * out, so that nodes of several versions work together.
 *
 * @param bytes The body, already bounded.
 * @throws {WireError} When it is no status.
 */
export function parseStatus(bytes: Uint8Array): StatusMessage {
  const json = parseBoundedJson(bytes);
  const version = versionSchema.safeParse(json).data?.v ?? PROTOCOL_VERSION;
  if (version > PROTOCOL_VERSION) {
    throw new WireError(
      `It speaks version ${version} of the members' protocol, and this build version ${PROTOCOL_VERSION}; update Covey on this node`,
    );
  }
  const parsed = statusSchema.safeParse(json);
  if (!parsed.success) {
    const path = parsed.error.issues[0]?.path.join(".") ?? "";
    throw new WireError(`Cannot read a status: "${path}" is wrong`);
  }
  return parsed.data;
}

const passedSchema = z.object({
  keyHash: z.string(),
  addresses: z.array(addressSchema).max(16),
});

function parsePassed(value: unknown): PassedAddresses | undefined {
  const parsed = passedSchema.safeParse(value).data;
  const keyHash = parseKeyHash(parsed?.keyHash ?? "");
  return parsed === undefined || keyHash === undefined
    ? undefined
    : { keyHash, addresses: parsed.addresses };
}
