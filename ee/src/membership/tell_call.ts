import type { Clock } from "@covey/core/platform";
import { TELL_PATH } from "../link/link_server.ts";
import type { MemberChannel } from "../link/member_channel.ts";
import { encodeTell, type TellMessage } from "./tell_message.ts";

/** Longest time that telling one member may take. */
const TELL_LIMIT_MS = 1500;
const REPLY_LIMIT_BYTES = 1024;

/**
 * Tell a member news.
 *
 * @returns Whether it took them.
 */
export async function tellNews(
  channel: MemberChannel,
  news: TellMessage,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<boolean> {
  using deadline = clock.deadline(TELL_LIMIT_MS, signal);
  try {
    const exchange = await channel.request({
      method: "POST",
      path: TELL_PATH,
      headers: { "content-type": "application/json" },
      body: encodeTell(news),
      headLimitMs: TELL_LIMIT_MS,
      signal: deadline.signal,
    });
    await exchange.readAll(REPLY_LIMIT_BYTES, TELL_LIMIT_MS);
    return exchange.status === 200;
  } catch {
    // Away, or too old to listen: it hears of it with its next status.
    return false;
  }
}
