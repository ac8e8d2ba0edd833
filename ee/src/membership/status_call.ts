import { STATUS_PATH } from "../link/link_server.ts";
import { LinkError } from "../link/link_error.ts";
import { WireError } from "../link/wire_error.ts";
import type { MemberChannel } from "../link/member_channel.ts";
import type { Clock } from "@covey/core/platform";
import {
  parseStatus,
  STATUS_LIMIT_BYTES,
  type StatusMessage,
} from "./status_message.ts";

/** Longest time a poll may take. */
export const POLL_LIMIT_MS = 1000;

const LONGEST_REASON = 600;

/** A status with what it took to get it. */
export interface Polled {
  readonly status: StatusMessage;
  readonly roundTripMs: number;
}

/** What this node says with its question. */
export interface StatusQuestion {
  readonly linkPort: number;
  readonly rowsDigest: string;
  /**
   * Port on the member's loopback where a tunnel leads back to this node; null
   * where the tunnel has no way back, undefined where there is no tunnel.
   */
  readonly callback: number | null | undefined;
}

/** The question as headers. */
export function questionHeaders(
  { callback, linkPort, rowsDigest }: StatusQuestion,
): Readonly<Record<string, string>> {
  return {
    "x-covey-link-port": String(linkPort),
    "x-covey-rows": rowsDigest,
    ...(callback === undefined
      ? {}
      : { "x-covey-callback": String(callback ?? "none") }),
  };
}

/**
 * Ask a member for its status.
 *
 * @param channel Through what.
 * @param question What to say with it.
 * @throws {LinkError} When none came within 1 s; or the signal's reason.
 */
export async function fetchStatus(
  channel: MemberChannel,
  question: StatusQuestion,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Polled> {
  using deadline = clock.deadline(POLL_LIMIT_MS, signal);
  try {
    const exchange = await channel.request({
      method: "GET",
      path: STATUS_PATH,
      headers: questionHeaders(question),
      headLimitMs: POLL_LIMIT_MS,
      signal: deadline.signal,
    });
    const bytes = await exchange.readAll(STATUS_LIMIT_BYTES, POLL_LIMIT_MS);
    const roundTripMs = clock.monotonic() - exchange.sentAtMs;
    if (exchange.status === 409) {
      throw new LinkError("copy", readReason(bytes));
    }
    if (exchange.status !== 200) {
      throw new LinkError("protocol", denialOf(exchange.status));
    }
    return { status: parseStatus(bytes), roundTripMs };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof LinkError) throw error;
    if (error instanceof WireError) {
      throw new LinkError("protocol", error.message, error);
    }
    throw deadline.signal.aborted
      ? new LinkError("timeout", "The member gave no status in time", error)
      : new LinkError("protocol", "The member's status makes no sense", error);
  }
}

function denialOf(status: number): string {
  switch (status) {
    case 403:
      return "The member does not take this node for one: an operator removed it, or the news has not spread yet; `covey invite` there and `covey join` here bring it back";
    case 404:
      return "The member knows no status of this version of the members' protocol; update Covey on both nodes to one version";
    default:
      return `The member answered with status ${status}`;
  }
}

/** What the other side says, fit to be shown. */
function readReason(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes.subarray(0, LONGEST_REASON));
  return text.replace(/\p{C}+/gu, " ").trim();
}
