import type { ActionMeans } from "./action_means.ts";
import { spreadNews } from "./spread_news.ts";

/**
 * Tell the others that this node leaves: they make its row a tombstone.
 *
 * @returns Names of those that took it, and of those that did not.
 */
export async function sayFarewell(
  means: ActionMeans,
  signal: AbortSignal,
): Promise<{ readonly told: string[]; readonly untold: string[] }> {
  const { membership, own, peers } = means;
  const tombstone = membership.tombstoneOf(own);
  return tombstone === undefined
    ? { told: [], untold: [] }
    : await spreadNews(means, peers.list(), [tombstone], signal);
}
