import { type JsonObject, type NodeId, parseNodeId } from "@covey/core/domain";
import { z } from "zod";
import type { Door } from "./door.ts";
import { parseDoor } from "./door_wire.ts";
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
  /** Port of its link, or 0 where it is not open yet; its address is what the other side sees. */
  readonly linkPort: number;
  /** What it is for; absent for a node. */
  readonly role?: MemberRole;
  /** Its machine tag, where its machine is known. */
  readonly tag?: string;
  readonly rows: readonly MemberRow[];
  readonly door: Door;
  /** Rotations that lie behind the secret it proved. */
  readonly rotation: number;
  /** Labels of the cluster it is in; none where it is in none, or where the secret says it. */
  readonly clusters: readonly string[];
  /** Label of the cluster it lets in to by invitation. */
  readonly clusterId?: string;
}

const MOST_CLUSTERS = 4;

const payloadSchema = z.object({
  id: z.string().transform((text, context) => {
    const id = parseNodeId(text);
    if (id !== undefined) return id;
    context.addIssue({ code: "custom", message: "wrong form" });
    return z.NEVER;
  }),
  name: z.string().transform(cleanName),
  linkPort: z.number().int().min(0).max(65535),
  role: z.enum(["node", "controller"]).catch("node").exactOptional(),
  tag: z.string().regex(MACHINE_TAG).exactOptional(),
  rows: z.array(z.unknown()).max(MOST_READ).transform((rows) =>
    rows.flatMap((row) => parseMemberRow(row) ?? [])
  ),
  door: z.unknown().optional().transform(parseDoor),
  rotation: z.number().int().min(0).catch(0),
  clusters: z.array(z.string().max(64)).max(MOST_CLUSTERS).catch([]),
  clusterId: z.uuid().exactOptional(),
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
    door: { ...payload.door },
    rotation: payload.rotation,
    clusters: payload.clusters,
    ...payload.clusterId === undefined ? {} : { clusterId: payload.clusterId },
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
