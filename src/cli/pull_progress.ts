import type { JsonObject, JsonValue } from "../domain/mod.ts";
import type { Progress } from "./progress.ts";

/**
 * Read how far a pull is from the node's view of it.
 *
 * @param view The view.
 */
export function progressOfPull(view: JsonObject): Progress {
  const { bytesPerSecond, doneBytes, from, remainingMs, stage, totalBytes } =
    view;
  const counted =
    /^(?:converting|copying|downloading|paused|relaying|waiting)$/;
  const isCounted = counted.test(
    String(stage),
  );
  const numberOf = (value: JsonValue | undefined) =>
    isCounted && typeof value === "number" ? value : null;
  return {
    what: String(stage),
    doneBytes: numberOf(doneBytes),
    totalBytes: numberOf(totalBytes),
    bytesPerSecond: numberOf(bytesPerSecond),
    remainingMs: numberOf(remainingMs),
    from: Array.isArray(from) ? from.map(String) : [],
  };
}
