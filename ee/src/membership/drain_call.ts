import type { Clock } from "@covey/core/platform";
import { z } from "zod";
import { encodeJson, parseBoundedJson } from "../link/bounded_json.ts";
import { DRAIN_PATH } from "../link/link_server.ts";
import type { MemberChannel } from "../link/member_channel.ts";
import { WireError } from "../link/wire_error.ts";

/** Longest time that a member may take over it. */
const DRAIN_LIMIT_MS = 3000;
const REPLY_LIMIT_BYTES = 1024;

const drainSchema = z.object({ draining: z.boolean() });

/** What came of asking a member to drain. */
export type DrainOutcome =
  | { readonly kind: "done" }
  /** It knows no such request. */
  | { readonly kind: "too_old" }
  | { readonly kind: "unreachable" };

/** Write whether to drain, as a request and as the answer to one. */
export function encodeDrain(draining: boolean): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(encodeJson({ draining }));
}

/**
 * Read whether to drain.
 *
 * @param bytes The body, already bounded.
 * @throws {WireError} When it does not say.
 */
export function parseDrain(bytes: Uint8Array): boolean {
  const parsed = drainSchema.safeParse(parseBoundedJson(bytes));
  if (parsed.success) return parsed.data.draining;
  throw new WireError("Cannot read whether to drain: its form is unknown");
}

/**
 * Have a member drain, or take work again.
 *
 * @param channel To it.
 * @param draining Which of the two.
 */
export async function askDrain(
  channel: MemberChannel,
  draining: boolean,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<DrainOutcome> {
  using deadline = clock.deadline(DRAIN_LIMIT_MS, signal);
  try {
    const exchange = await channel.request({
      method: "POST",
      path: DRAIN_PATH,
      headers: { "content-type": "application/json" },
      body: encodeDrain(draining),
      headLimitMs: DRAIN_LIMIT_MS,
      signal: deadline.signal,
    });
    const bytes = await exchange.readAll(REPLY_LIMIT_BYTES, DRAIN_LIMIT_MS);
    const isDone = exchange.status === 200 && parseDrain(bytes) === draining;
    return { kind: isDone ? "done" : "too_old" };
  } catch {
    signal.throwIfAborted();
    return { kind: "unreachable" };
  }
}
