/** What a row is judged by. */
export interface Measured {
  readonly work: "text" | "embeddings";
  readonly concurrency: number;
  /** Time of one machine over that of two. */
  readonly ratio: number;
  /** Best ratio that these speeds allow, or null where work is split. */
  readonly bound: number | null;
  /** Medians, or null where there is no first token. */
  readonly oneTtftMs: number | null;
  readonly twoTtftMs: number | null;
}

/** What a row should reach, and whether it did. */
export interface Goal {
  readonly what: string;
  readonly reach: number;
  readonly measured: number;
  readonly reached: boolean;
}

/**
 * What the issue and the table of figures ask of two machines.
 *
 * @param row What was measured.
 * @param speed Speed of the second machine, that of the first being 1.
 */
export function goalsOf(row: Measured, speed: number): readonly Goal[] {
  const goals: Goal[] = [];
  const atLeast = (what: string, reach: number, measured: number) =>
    goals.push({ what, reach, measured, reached: measured >= reach });
  const { work, concurrency, ratio, bound, oneTtftMs, twoTtftMs } = row;
  if (work === "embeddings") {
    if (concurrency === 1) atLeast("ratio", 1.5, ratio);
    return goals;
  }
  if (concurrency === 1) atLeast("ratio", 0.98, ratio);
  else if (speed === 1) atLeast("ratio", 1.95, ratio);
  else if (bound !== null) atLeast("of bound", 0.97, ratio / bound);
  if (concurrency === 8 && oneTtftMs !== null && twoTtftMs !== null) {
    atLeast("TTFT one ÷ two", 2, oneTtftMs / twoTtftMs);
  }
  return goals;
}

/**
 * Of jobs that are not split: how much sooner two machines can have done them
 * all at best, the end of the run included.
 */
export function boundOf(
  jobs: number,
  concurrency: number,
  speed: number,
): number {
  if (concurrency === 1) return Math.max(1, speed);
  let [first, second] = [0, 0];
  for (let job = 0; job < jobs; job++) {
    if (first + 1 <= second + 1 / speed) first++;
    else second += 1 / speed;
  }
  return jobs / Math.max(first, second);
}
