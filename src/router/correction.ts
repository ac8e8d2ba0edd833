/** What an entry has found one candidate's predictions to be off by. */
interface Correction {
  /** Logarithm of actual over predicted, averaged. */
  log: number;
  observations: number;
  atMs: number;
}

const SLOWEST_RATE = 0.1;
/** Within a factor of 2 either way: beyond that something else is wrong. */
const MOST_LOG = Math.LN2;
const FADE_MS = 300_000;
const MOST_KEPT = 1024;

/**
 * One factor per candidate that this entry multiplies the member's own
 * prediction with: what the member cannot know of its answers' way here. Fades
 * when nothing is sent there.
 */
export class Corrections {
  /** Least recently observed first. */
  readonly #corrections = new Map<string, Correction>();

  /**
   * The factor.
   *
   * @param candidate Key of engine and model.
   * @param nowMs Monotonic time.
   * @returns Between 0.5 and 2; 1 where nothing is known.
   */
  factor(candidate: string, nowMs: number): number {
    const known = this.#corrections.get(candidate);
    return known === undefined ? 1 : Math.exp(faded(known, nowMs));
  }

  /**
   * Take an answer in.
   *
   * @param candidate Key of engine and model.
   * @param predictedMs What the member's own figures gave, without this factor.
   * @param actualMs What it took.
   * @param nowMs Monotonic time.
   */
  observe(
    candidate: string,
    predictedMs: number,
    actualMs: number,
    nowMs: number,
  ): void {
    const seen = Math.log(actualMs / predictedMs);
    if (!Number.isFinite(seen)) return;
    const known = this.#corrections.get(candidate);
    const observations = (known?.observations ?? 0) + 1;
    const before = known === undefined ? 0 : faded(known, nowMs);
    // Half of a lone first observation: it may as well be noise.
    const rate = Math.max(1 / (observations + 1), SLOWEST_RATE);
    const log = before + rate * (clipped(seen) - before);
    this.#corrections.delete(candidate);
    this.#corrections.set(candidate, { log, observations, atMs: nowMs });
    if (this.#corrections.size <= MOST_KEPT) return;
    for (const oldest of this.#corrections.keys()) {
      this.#corrections.delete(oldest);
      return;
    }
  }

  /** All factors that are not 1, for the metrics. */
  values(nowMs: number): readonly number[] {
    return [...this.#corrections.values()].map((one) =>
      Math.exp(faded(one, nowMs))
    );
  }
}

function faded({ log, atMs }: Correction, nowMs: number): number {
  return log * Math.exp(-Math.max(0, nowMs - atMs) / FADE_MS);
}

function clipped(log: number): number {
  return Math.min(Math.max(log, -MOST_LOG), MOST_LOG);
}
