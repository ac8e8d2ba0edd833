import type { Engine } from "../domain/mod.ts";
import type { QueuedEngine } from "./queued_engine.ts";

/** This node's engines, each behind a queue that lives as long as it does. */
export class LocalEngines implements Disposable {
  readonly #engines: () => readonly Engine[];
  readonly #queued: (engine: Engine) => QueuedEngine;
  readonly #known = new Map<Engine, QueuedEngine>();
  #latest: readonly Engine[] = [];
  #all: readonly QueuedEngine[] = [];

  /**
   * @param engines The engines as they are now; the same list while nothing changed.
   * @param queued Puts a queue in front of one.
   */
  constructor(
    engines: () => readonly Engine[],
    queued: (engine: Engine) => QueuedEngine,
  ) {
    this.#engines = engines;
    this.#queued = queued;
  }

  /** All of them; what waits for one that left ends with a fault. */
  all(): readonly QueuedEngine[] {
    const now = this.#engines();
    if (now === this.#latest) return this.#all;
    this.#latest = now;
    this.#all = now.map((engine) =>
      this.#known.get(engine) ?? this.#add(engine)
    );
    for (const [engine, queued] of this.#known) {
      if (now.includes(engine)) continue;
      this.#known.delete(engine);
      queued[Symbol.dispose]();
    }
    return this.#all;
  }

  [Symbol.dispose](): void {
    for (const queued of this.#known.values()) queued[Symbol.dispose]();
  }

  #add(engine: Engine): QueuedEngine {
    const queued = this.#queued(engine);
    this.#known.set(engine, queued);
    return queued;
  }
}
