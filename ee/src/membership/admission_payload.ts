import { type JsonObject, type NodeId, parseNodeId } from "@covey/core/domain";
import { z } from "zod";
import {
  cleanName,
  MACHINE_TAG,
  type MemberRole,
  type MemberRow,
  parseMemberRow,
} from "./member_row.ts";

/** Most rows sent with an admission; the others come with the first status. */
const MOST_SENT = 512;
const MOST_READ = 1024;

/** What each side says of itself once both have proved the password. */
export interface AdmissionPayload {
  readonly id: NodeId;
  readonly name: string;
  /** Port of its link; its address is what the other side sees. */
  readonly linkPort: number;
  /** What it is for; absent for a node. */
  readonly role?: MemberRole;
  /** Its machine tag, where its machine is known. */
  readonly tag?: string;
  readonly rows: readonly MemberRow[];
}

const payloadSchema = z.object({
  id: z.string().transform((text, context) => {
    const id = parseNodeId(text);
    if (id !== undefined) return id;
    context.addIssue({ code: "custom", message: "wrong form" });
    return z.NEVER;
  }),
  name: z.string().transform(cleanName),
  linkPort: z.number().int().min(1).max(65535),
  role: z.enum(["node", "controller"]).catch("node").exactOptional(),
  tag: z.string().regex(MACHINE_TAG).exactOptional(),
  rows: z.array(z.unknown()).max(MOST_READ).transform((rows) =>
    rows.flatMap((row) => parseMemberRow(row) ?? [])
  ),
});

/**
 * Write a payload.
 *
 * @param payload Its rows count in order: those past the limit are left out.
 */
export function encodeAdmissionPayload(payload: AdmissionPayload): JsonObject {
  return {
    id: payload.id,
    name: payload.name,
    linkPort: payload.linkPort,
    ...payload.role === undefined ? {} : { role: payload.role },
    ...payload.tag === undefined ? {} : { tag: payload.tag },
    rows: payload.rows.slice(0, MOST_SENT).map((row) => ({ ...row })),
  };
}

/**
 * Read a payload.
 *
 * @returns The payload, or undefined when it is none.
 */
export function parseAdmissionPayload(
  value: JsonObject,
): AdmissionPayload | undefined {
  return payloadSchema.safeParse(value).data;
}
