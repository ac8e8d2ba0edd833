import type { Clock } from "@covey/core/platform";
import { z } from "zod";
import type { KeyHash } from "../identity/key_hash.ts";
import { encodeJson, parseBoundedJson } from "../link/bounded_json.ts";
import { dialLink, type LinkCredentials } from "../link/dial.ts";
import { formatAddress, type LinkAddress } from "../link/link_address.ts";
import { LinkError, type LinkProblem } from "../link/link_error.ts";
import { CALL_BACK_PATH } from "../link/link_server.ts";
import type { MemberChannel } from "../link/member_channel.ts";
import {
  questionHeaders,
  type StatusQuestion,
} from "../membership/status_call.ts";

const LIMIT_MS = 3000;
const LIMIT_BYTES = 4096;

/** What came of a dial. */
export type DialOutcome = "met" | LinkProblem;

/** A dial of one address and what came of it. */
export interface DialResult {
  /** `host:port`; empty where there was none to dial. */
  readonly address: string;
  readonly outcome: DialOutcome;
  /** The system's word for what went wrong, for example `EHOSTUNREACH`, or null. */
  readonly code: string | null;
}

/** What a member says after it was asked to dial back. */
export interface CalledBack {
  /** Its dial of this node. */
  readonly dial: DialResult;
  /** How far its clock is ahead of this node's, in milliseconds. */
  readonly clockAheadMs: number;
}

/** What dials of a link need. */
export interface DialMeans {
  readonly credentials: LinkCredentials;
  readonly clock: Clock;
}

/**
 * Dial one address and check which key answers.
 *
 * @param address Where, or null where none is known.
 * @param expected The key that must answer, or null for any.
 */
export async function tryDial(
  address: LinkAddress | null,
  expected: KeyHash | null,
  { clock, credentials }: DialMeans,
  signal: AbortSignal,
): Promise<DialResult> {
  if (address === null) {
    return { address: "", outcome: "unreachable", code: null };
  }
  const text = formatAddress(address);
  try {
    const { socket } = await dialLink({
      addresses: [address],
      expected,
      credentials,
      clock,
      signal,
    });
    socket.destroy();
    return { address: text, outcome: "met", code: null };
  } catch (error) {
    signal.throwIfAborted();
    return {
      address: text,
      outcome: error instanceof LinkError ? error.problem : "unreachable",
      code: error instanceof Error ? codeOf(error.cause) : null,
    };
  }
}

/**
 * The answer to a member that asks to be dialled back.
 *
 * @param dial What came of dialling it.
 * @param clock This node's.
 */
export function encodeCallBack(
  dial: DialResult,
  clock: Clock,
): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(
    encodeJson({ v: 1, dial: { ...dial }, nowMs: clock.now() }),
  );
}

const answerSchema = z.object({
  dial: z.object({
    address: z.string().max(300),
    outcome: z.enum([
      "met",
      "refused",
      "unreachable",
      "identity",
      "timeout",
      "broken",
      "protocol",
      "copy",
    ]),
    code: z.string().max(40).nullable().default(null),
  }),
  nowMs: z.number(),
});

/**
 * Ask a member to dial this node back.
 *
 * @param channel The link to it.
 * @param question Where this node says that it is.
 * @returns What it met, or null where it is too old to be asked.
 * @throws {LinkError} When it can not be asked; or the signal's reason.
 */
export async function askCallBack(
  channel: MemberChannel,
  question: StatusQuestion,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<CalledBack | null> {
  const exchange = await channel.request({
    method: "POST",
    path: CALL_BACK_PATH,
    headers: questionHeaders(question),
    headLimitMs: LIMIT_MS,
    signal,
  });
  const askedMs = clock.now();
  const bytes = await exchange.readAll(LIMIT_BYTES, LIMIT_MS);
  if (exchange.status === 404) return null;
  const parsed = exchange.status === 200
    ? answerSchema.safeParse(parseBoundedJson(bytes)).data
    : undefined;
  if (parsed === undefined) {
    throw new LinkError("protocol", "The member's answer makes no sense");
  }
  return {
    dial: parsed.dial,
    clockAheadMs: Math.round(parsed.nowMs - askedMs),
  };
}

function codeOf(cause: unknown): string | null {
  return cause instanceof Error && "code" in cause &&
      typeof cause.code === "string"
    ? cause.code
    : null;
}
