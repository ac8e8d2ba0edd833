/** Whether a model would have to be loaded, as far as a queue's order and length depend on it. */
export interface LoadOutlook {
  /** Whether it is loaded, or being loaded, now. */
  readonly isLoaded: boolean;
  /** What a load takes. */
  readonly loadTimeMs: number;
  /** Keys of the models that a load would push out. */
  readonly evicts: readonly string[];
}

/** Work in a line, by the key of its model. */
export interface LinedUp {
  readonly model: string;
  readonly expectedMs: number;
}

/** A line played forward. */
export interface PlayedLine {
  /** Expected work of each with the load it would wait for, in order. */
  readonly workMs: readonly number[];
  /** Models whose load state is another after the line than now, by key. */
  readonly loadedAfter: ReadonlyMap<string, boolean>;
}

/**
 * Play a line forward: whose turn it is loads its model unless somebody before
 * it has, and may push another one out, which is loaded again in its turn. Pure.
 *
 * @param line Who waits, first to start first.
 * @param running Keys of the models that run.
 * @param outlookOf What is known of a model's load; null for one that needs none.
 */
export function playLoads(
  line: readonly LinedUp[],
  running: ReadonlySet<string>,
  outlookOf: (model: string) => LoadOutlook | null,
): PlayedLine {
  const loaded = new Map<string, boolean>();
  const evictedBy = new Map<string, string>();
  const workMs = line.map(({ expectedMs, model }) => {
    const outlook = outlookOf(model);
    if (outlook === null) return expectedMs;
    const isLoaded = loaded.get(model) ??
      (running.has(model) || outlook.isLoaded);
    if (isLoaded) return expectedMs;
    loaded.set(model, true);
    // What was pushed out comes back in the place of what pushed it out.
    const usurper = evictedBy.get(model);
    const victims = usurper === undefined ? outlook.evicts : [usurper];
    for (const victim of victims) {
      loaded.set(victim, false);
      evictedBy.set(victim, model);
    }
    return expectedMs + outlook.loadTimeMs;
  });
  for (const [model, isLoaded] of loaded) {
    if (outlookOf(model)?.isLoaded === isLoaded) loaded.delete(model);
  }
  return { workMs, loadedAfter: loaded };
}
