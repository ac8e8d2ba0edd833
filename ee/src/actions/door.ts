import type { JsonObject, JsonValue } from "@covey/core/domain";
import type { ActionMeans } from "./action_means.ts";
import { readDoor } from "./bodies.ts";
import { spreadNews } from "./spread_news.ts";

/** Open or close the door, or say how it is. */
export async function turnDoor(
  body: JsonObject,
  means: ActionMeans,
  signal: AbortSignal,
): Promise<JsonValue> {
  const { door, peers } = means;
  const { state } = readDoor(body);
  if (state === null || state === door.door.state) {
    return { door: door.door.state, changed: false };
  }
  door.set(state);
  const { told, untold } = await spreadNews(means, peers.list(), [], signal);
  return { door: state, changed: true, told, untold };
}
