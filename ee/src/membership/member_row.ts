import { type NodeId, parseNodeId } from "@covey/core/domain";
import { z } from "zod";
import { type KeyHash, parseKeyHash } from "../identity/key_hash.ts";

/** One identity that was let in, as every member keeps it. */
export interface MemberRow {
  readonly id: NodeId;
  /** The pin; a row is this key's row, and a new key is a new member. */
  readonly keyHash: KeyHash;
  /** Name for people, as it was when the row was written. */
  readonly name: string;
  /** Raised only by an operator's re-admission. */
  readonly inc: number;
  readonly state: "member" | "removed";
  /** `community`, a licence id, or null before one was given. */
  readonly seat: string | null;
  /** Written when it was let in; absent for a node. A controller never works and has no seat. */
  readonly role?: MemberRole;
  /** Tells the machine again under another identity; absent where it is not known. */
  readonly tag?: string;
}

/** What a member is for. */
export type MemberRole = "node" | "controller";

/** Longest name kept; longer ones are cut. */
const NAME_LENGTH = 128;

/** Form of a machine tag. */
export const MACHINE_TAG = /^[0-9a-f]{32}$/;

const rowSchema = z.object({
  id: z.string().transform((text, context) =>
    parseNodeId(text) ?? wrong(context)
  ),
  keyHash: z.string().transform((text, context) =>
    parseKeyHash(text) ?? wrong(context)
  ),
  name: z.string().transform(cleanName),
  inc: z.number().int().positive(),
  state: z.enum(["member", "removed"]),
  seat: z.string().min(1).max(128).nullable(),
  // A role of a later version counts as a node's: the gate errs to the strict side.
  role: z.enum(["node", "controller"]).catch("node").exactOptional(),
  tag: z.string().regex(MACHINE_TAG).exactOptional(),
});

/**
 * Read a row of a peer or a file.
 *
 * @returns The row, or undefined when it is none.
 */
export function parseMemberRow(value: unknown): MemberRow | undefined {
  return rowSchema.safeParse(value).data;
}

/**
 * Make a name fit to be shown and logged.
 *
 * @param name As its node stated it.
 * @returns Without control characters, and not too long.
 */
export function cleanName(name: string): string {
  return name.replace(/\p{C}/gu, "").slice(0, NAME_LENGTH);
}

function wrong(context: z.RefinementCtx): never {
  context.addIssue({ code: "custom", message: "wrong form" });
  return z.NEVER;
}
