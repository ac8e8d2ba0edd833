import type { JsonValue } from "@covey/core/domain";
import type { ActionMeans } from "./action_means.ts";

/** A poll with what may follow it; who takes longer is shown as last seen. */
const REFRESH_LIMIT_MS = 3000;

/** Ask every member now, and look for new ones. */
export async function refresh(
  means: ActionMeans,
  signal: AbortSignal,
): Promise<JsonValue> {
  const { peers, platform: { clock } } = means;
  means.lookAround();
  const all = peers.list();
  using deadline = clock.deadline(REFRESH_LIMIT_MS, signal);
  await Promise.all(
    all.map(({ monitor }) => monitor.refreshed(deadline.signal)),
  );
  return { asked: all.length };
}
