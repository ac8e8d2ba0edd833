import type { PullView } from "../../domain/mod.ts";
import type { Clock } from "../../platform/mod.ts";
import type { PullWatcher } from "./pull_job.ts";

/**
 * Make views of a pull out of what it tells: rate and time left are means of
 * this run.
 *
 * @param clock Measures.
 * @param show Called with what changed.
 */
export function watcherOf(
  clock: Clock,
  show: (change: Partial<PullView>) => void,
): PullWatcher {
  let first: { readonly atMs: number; readonly bytes: number } | null = null;
  return {
    planned: (totalBytes) => show({ totalBytes }),
    noted: (note) => show({ note }),
    allied(progress) {
      const { doneBytes, totalBytes } = progress;
      const isWaiting = progress.kind === "waiting";
      const rate = isWaiting ? 0 : progress.bytesPerSecond;
      show({
        stage: progress.kind,
        doneBytes,
        ...totalBytes === null ? {} : { totalBytes },
        bytesPerSecond: rate > 0 ? rate : null,
        remainingMs: rate > 0 && totalBytes !== null
          ? Math.round(Math.max(0, totalBytes - doneBytes) / rate * 1_000)
          : null,
        from: isWaiting ? [progress.member] : progress.members,
      });
    },
    downloading(doneBytes, totalBytes) {
      const nowMs = clock.monotonic();
      first ??= { atMs: nowMs, bytes: doneBytes };
      const tookMs = nowMs - first.atMs;
      const rate = tookMs > 0
        ? Math.max(0, doneBytes - first.bytes) / tookMs
        : 0;
      show({
        stage: "downloading",
        doneBytes,
        totalBytes,
        bytesPerSecond: rate > 0 ? Math.round(rate * 1_000) : null,
        remainingMs: rate > 0 && totalBytes !== null
          ? Math.round(Math.max(0, totalBytes - doneBytes) / rate)
          : null,
        from: [],
      });
    },
    verifying: () => show({ stage: "verifying", remainingMs: null }),
    publishing: () => show({ stage: "publishing" }),
  };
}
