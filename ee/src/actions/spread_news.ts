import type { Peer } from "../membership/peer.ts";
import { tellNews } from "../membership/tell_call.ts";
import type { MemberRow } from "../membership/member_row.ts";
import type { ActionMeans } from "./action_means.ts";

/**
 * Tell peers of rows and of the door at once. Who can not be reached hears of
 * it with the first status.
 *
 * @returns Names of those that took the news, and of those that did not.
 */
export async function spreadNews(
  { door, platform }: Pick<ActionMeans, "door" | "platform">,
  peers: readonly Peer[],
  rows: readonly MemberRow[],
  signal: AbortSignal,
): Promise<{ readonly told: string[]; readonly untold: string[] }> {
  const news = { rows, door: door.door };
  const { clock } = platform;
  const told: string[] = [];
  const untold: string[] = [];
  await Promise.all(peers.map(async ({ channel, monitor }) => {
    const took = await tellNews(channel, news, { clock, signal });
    (took ? told : untold).push(monitor.name);
  }));
  return { told: told.sort(), untold: untold.sort() };
}
