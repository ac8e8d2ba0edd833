import type { JsonObject, NodeId } from "@covey/core/domain";
import { z } from "zod";
import { parseBoundedJson } from "../link/bounded_json.ts";
import { WireError } from "../link/wire_error.ts";

/** Room for a list of copies on the link. */
export const COPIES_LIMIT_BYTES = 256 * 1024;
const MOST_COPIES = 200;

/**
 * Where a copy stands: `queued` others come first, `checking` what came before
 * is read again, `waiting` no member that has it answers, `copying` chunks come,
 * `paused` an operator stopped it for now.
 */
export type CopyState =
  | "queued"
  | "checking"
  | "waiting"
  | "copying"
  | "paused"
  | "done"
  | "failed"
  | "cancelled";

/** A copy as the node that receives it shows it. */
export interface CopyView {
  readonly id: string;
  /** Node that receives it. */
  readonly node: NodeId;
  readonly nodeName: string;
  /** Name it has, or will have, there. */
  readonly model: string;
  readonly root: string;
  readonly state: CopyState;
  readonly doneBytes: number;
  /** 0 until the manifest is there. */
  readonly totalBytes: number;
  /** Over the last seconds. */
  readonly bytesPerSecond: number;
  /** Names of members that give chunks now, or gave them once it has ended. */
  readonly sources: readonly string[];
  /** What to know of it, or null. */
  readonly message: string | null;
}

/** What a member is asked to copy. */
export interface CopyAsk {
  readonly root: string;
  /** Name it has at the one that asks. */
  readonly model: string;
  /** Most bytes a second, or null for as many as go. */
  readonly bytesPerSecond: number | null;
  /** Why it was asked for, where no operator did. */
  readonly reason?: string;
  /** Root of what goes with it, a vision part say; absent for nothing. */
  readonly companions?: string;
  /** Whether the model is here, and what goes with it is all that is to come; absent for no. Never asked by a member. */
  readonly isHere?: boolean;
}

const state = z.enum([
  "queued",
  "checking",
  "waiting",
  "copying",
  "paused",
  "done",
  "failed",
  "cancelled",
]);
const viewSchema = z.object({
  id: z.string().min(1).max(64),
  model: z.string().max(300),
  root: z.string().max(64),
  state,
  doneBytes: z.number().min(0),
  totalBytes: z.number().min(0),
  bytesPerSecond: z.number().min(0),
  sources: z.array(z.string().max(200)).max(64),
  message: z.string().max(1000).nullable(),
});
const listSchema = z.object({ copies: z.array(z.unknown()).max(MOST_COPIES) });
const askSchema = z.object({
  root: z.string().regex(/^[0-9a-f]{64}$/),
  model: z.string().min(1).max(300),
  bytesPerSecond: z.number().min(1).nullable().default(null),
  reason: z.string().max(500).exactOptional(),
  companions: z.string().regex(/^[0-9a-f]{64}$/).exactOptional(),
});

/**
 * Read a member's copies; those that can not be read are left out.
 *
 * @param of Whose they are: what the member says of that is not asked.
 * @throws {WireError} When it is no list.
 */
export function parseCopies(
  bytes: Uint8Array,
  of: { readonly node: NodeId; readonly nodeName: string },
): readonly CopyView[] {
  const parsed = listSchema.safeParse(parseBoundedJson(bytes));
  if (!parsed.success) throw new WireError("Cannot read a list of copies");
  return parsed.data.copies.flatMap((one) => {
    const view = viewSchema.safeParse(one).data;
    return view === undefined ? [] : [{ ...view, ...of }];
  });
}

/**
 * Read what to copy.
 *
 * @throws {WireError} When it is none.
 */
export function parseCopyAsk(bytes: Uint8Array): CopyAsk {
  const parsed = askSchema.safeParse(parseBoundedJson(bytes));
  if (!parsed.success) throw new WireError("Cannot read what to copy");
  return parsed.data;
}

/** A view as JSON. */
export function viewJson(view: CopyView): JsonObject {
  return { ...view };
}
