import type { QueueReport } from "./engine.ts";

/**
 * Room to play queues forward in, one after the other: a placement looks at a
 * thousand of them, which must leave nothing behind for the collector.
 */
export class QueueRoom {
  /** When each running attempt ends, in milliseconds from now; only the first `running` count. */
  readonly endsMs: number[] = [];
  /** Attempts that run. */
  running = 0;
  /** Of those that waited, how many have started. */
  started = 0;

  /**
   * Take a queue in and bring it forward: what was expected to run has run,
   * what waited has taken its slot.
   *
   * @param queue As its owner stated it.
   * @param elapsedMs Local time since it came; 0 for a queue as it is.
   */
  enter({ runningMs, waitingMs }: QueueReport, elapsedMs: number): void {
    const { endsMs } = this;
    this.started = 0;
    this.running = runningMs.length;
    for (let at = 0; at < runningMs.length; at++) {
      endsMs[at] = runningMs[at] ?? 0;
    }
    if (elapsedMs <= 0 || this.running === 0) return;
    // Ends stay counted from the report, and are compared with what has passed.
    while (this.running > 0) {
      const soonestMs = this.takeSoonest();
      if (soonestMs > elapsedMs) {
        this.add(soonestMs);
        break;
      }
      const next = waitingMs[this.started];
      if (next === undefined) continue;
      this.started++;
      this.add(soonestMs + next);
    }
    for (let at = 0; at < this.running; at++) {
      endsMs[at] = (endsMs[at] ?? 0) - elapsedMs;
    }
  }

  /** Let one more run. */
  add(endMs: number): void {
    this.endsMs[this.running++] = endMs;
  }

  /**
   * Let the one that ends first end. A device has few slots: looking through
   * them is quicker than keeping them sorted.
   *
   * @returns When it ends; 0 where nothing runs.
   */
  takeSoonest(): number {
    const { endsMs } = this;
    let at = this.running - 1;
    if (at < 0) return 0;
    const lastMs = endsMs[at] ?? 0;
    let soonestMs = lastMs;
    for (let other = 0; other < this.running; other++) {
      const endMs = endsMs[other] ?? 0;
      if (endMs >= soonestMs) continue;
      soonestMs = endMs;
      at = other;
    }
    endsMs[at] = lastMs;
    this.running--;
    return soonestMs;
  }
}
