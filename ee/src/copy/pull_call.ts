import type { NodeId, PullWant } from "@covey/core/domain";
import { z } from "zod";
import { parseBoundedJson } from "../link/bounded_json.ts";
import type { MemberChannel } from "../link/member_channel.ts";
import { WireError } from "../link/wire_error.ts";
import { call, type CallMeans } from "./copy_calls.ts";
import type { Standing } from "./pull_election.ts";

/** Where members are asked about pulls on the link. */
export const PULLS_PATH = "/covey/1/pulls";
const LIMIT_BYTES = 4096;
const LIMIT_MS = 2000;

/** What a member is asked about a pull. */
export interface PullQuestion extends Pick<PullWant, "key" | "sha256s"> {
  /** Who asks. */
  readonly node: NodeId;
}

const digest = z.string().regex(/^[0-9a-f]{64}$/);
const questionSchema = z.object({
  key: digest,
  sha256s: z.array(digest.nullable()).max(999),
  node: z.string().regex(/^[0-9a-f-]{36}$/).transform((id) => id as NodeId),
});
const standingSchema = z.discriminatedUnion("state", [
  z.object({ state: z.literal("none") }),
  z.object({
    state: z.literal("has"),
    model: z.string().min(1).max(300),
    root: digest,
    companions: digest.exactOptional(),
  }),
  z.object({ state: z.literal("bidding") }),
  z.object({
    state: z.literal("fetching"),
    doneBytes: z.number().min(0),
    totalBytes: z.number().min(0).nullable(),
  }),
  z.object({ state: z.literal("waiting") }),
]);

/**
 * Ask a member whether it has, fetches or wants the same.
 *
 * @throws {NotHeldError} When its version knows no such question. Else as `fetchManifest`.
 */
export async function askStanding(
  channel: MemberChannel,
  question: PullQuestion,
  means: CallMeans,
): Promise<Standing> {
  const bytes = await call(channel, {
    method: "POST",
    path: PULLS_PATH,
    body: JSON.stringify(question),
    limitBytes: LIMIT_BYTES,
    limitMs: LIMIT_MS,
  }, means);
  return parseStanding(bytes);
}

/**
 * Read how a member stands to a pull.
 *
 * @throws {WireError} When it does not say.
 */
export function parseStanding(bytes: Uint8Array): Standing {
  const parsed = standingSchema.safeParse(parseBoundedJson(bytes));
  if (!parsed.success) throw new WireError("Cannot read a pull's standing");
  return parsed.data;
}

/**
 * Read what a member asks.
 *
 * @throws {WireError} When it is no question.
 */
export function parseQuestion(bytes: Uint8Array): PullQuestion {
  const parsed = questionSchema.safeParse(parseBoundedJson(bytes));
  if (!parsed.success) throw new WireError("Cannot read what is pulled");
  return parsed.data;
}
