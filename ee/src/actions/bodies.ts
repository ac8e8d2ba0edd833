import { Fault, type JsonObject } from "@covey/core/domain";
import { z } from "zod";
import { parseJoinCode } from "../invitation/join_code.ts";
import { type JoinToken, parseJoinToken } from "../invitation/join_token.ts";
import { DEFAULT_LIFE_MS } from "../invitation/invitations.ts";
import { describeBody } from "./describe_body.ts";
import type { LinkAddress } from "../link/link_address.ts";
import { parseAddress } from "../link/parse_address.ts";

const SHORTEST_LIFE_MS = 1_000;
const LONGEST_LIFE_MS = 24 * 3_600_000;

/** What to invite with. */
export interface InviteBody {
  readonly kind: "token" | "code";
  readonly ttlMs: number;
}

/** What to join with. */
export type JoinBody =
  | { readonly kind: "token"; readonly token: JoinToken }
  | {
    readonly kind: "code";
    readonly code: string;
    readonly at: LinkAddress;
  };

/** Whom to remove. */
export interface RemoveBody {
  readonly member: string;
  readonly expel: boolean;
}

/** Whom to drain, or to take back. */
export interface DrainBody {
  readonly member: string;
  readonly draining: boolean;
}

/** How to leave. */
export interface LeaveBody {
  readonly untilRestart: boolean;
}

/** What to do with the door; null to ask how it is. */
export interface DoorBody {
  readonly state: "open" | "closed" | null;
}

const inviteSchema = z.object({
  code: z.boolean().default(false),
  ttlMs: z.number().int().min(SHORTEST_LIFE_MS).max(LONGEST_LIFE_MS)
    .default(DEFAULT_LIFE_MS),
});

const joinSchema = z.object({
  token: z.string().exactOptional(),
  code: z.string().exactOptional(),
  at: z.string().exactOptional(),
});

const removeSchema = z.object({
  member: z.string().min(1).max(200),
  expel: z.boolean().default(false),
});

const drainSchema = z.object({
  member: z.string().min(1).max(200),
  draining: z.boolean(),
});

const leaveSchema = z.object({ untilRestart: z.boolean().default(false) });

const doorSchema = z.object({
  state: z.enum(["open", "closed"]).nullable().default(null),
});

/** @throws {Fault} When it is none; so do the others. */
export function readInvite(body: JsonObject): InviteBody {
  const { code, ttlMs } = read(
    inviteSchema,
    body,
    "{code?: boolean, ttlMs?: 1000 to 86400000}",
  );
  return { kind: code ? "code" : "token", ttlMs };
}

/** Read what to join with. What was given is never quoted: it lets in. */
export function readJoin(body: JsonObject): JoinBody {
  const { at, code, token } = read(
    joinSchema,
    body,
    "{token: text} or {code: text, at: text}",
  );
  if (token !== undefined && code === undefined) {
    const reading = parseJoinToken(token);
    if (reading.kind === "token") return reading;
    throw new Fault("invalid_request", reading.reason, { param: "token" });
  }
  if (code === undefined || token !== undefined) {
    throw new Fault(
      "invalid_request",
      "To join takes either a token or a code",
    );
  }
  const digits = parseJoinCode(code);
  if (digits === undefined) {
    throw new Fault("invalid_request", "A join code has 8 digits", {
      param: "code",
    });
  }
  const address = at === undefined ? undefined : parseAddress(at);
  if (address === undefined) {
    throw new Fault(
      "invalid_request",
      "A code needs the address of the node that issued it, as host or host:port",
      { param: "at" },
    );
  }
  return { kind: "code", code: digits, at: address };
}

/** Read whom to remove. */
export function readRemove(body: JsonObject): RemoveBody {
  return read(removeSchema, body, "{member: text, expel?: boolean}");
}

/** Read whom to drain. */
export function readDrain(body: JsonObject): DrainBody {
  return read(drainSchema, body, "{member: text, draining: boolean}");
}

/** Read how to leave. */
export function readLeave(body: JsonObject): LeaveBody {
  return read(leaveSchema, body, "{untilRestart?: boolean}");
}

/** Read what to do with the door. */
export function readDoor(body: JsonObject): DoorBody {
  return read(doorSchema, body, '{state?: "open" or "closed"}');
}

/** Describe what to invite with, as `readInvite` reads it; so do the others. */
export function describeInvite(): JsonObject {
  return describeBody(inviteSchema);
}

/** Describe what to join with. */
export function describeJoin(): JsonObject {
  return describeBody(joinSchema);
}

/** Describe how to leave. */
export function describeLeave(): JsonObject {
  return describeBody(leaveSchema);
}

/** Describe what to do with the door. */
export function describeDoor(): JsonObject {
  return describeBody(doorSchema);
}

function read<Value>(
  schema: z.ZodType<Value>,
  body: JsonObject,
  form: string,
): Value {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const param = parsed.error.issues[0]?.path.join(".") ?? "";
  throw new Fault(
    "invalid_request",
    `The body of this action has the form ${form}`,
    param === "" ? {} : { param },
  );
}
