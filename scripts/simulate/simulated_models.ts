import type { Eviction, LoadState } from "../../src/domain/mod.ts";
import { ArrivalRates } from "../../src/router/arrival_rates.ts";
import type { LoadOutlook } from "../../src/router/load_outlook.ts";
import type { NodeSpec } from "./scenario.ts";
import type { VirtualClock } from "./virtual_clock.ts";

/** How long an idle model would stay if nobody needed its room. */
export const KEEP_ALIVE_MS = 300_000;

interface ModelMemory {
  lastUsedMs: number;
  loadedAtMs: number;
}

/** Which models are in a node's memory, and who leaves for whom. */
export class SimulatedModels {
  readonly #clock: VirtualClock;
  readonly #spec: NodeSpec;
  readonly #arrivals = new ArrivalRates();
  readonly #memory = new Map<string, ModelMemory>();
  #loads = 0;

  constructor(options: {
    readonly clock: VirtualClock;
    readonly spec: NodeSpec;
    readonly models: readonly string[];
  }) {
    this.#clock = options.clock;
    this.#spec = options.spec;
    for (const model of options.models) {
      if (!options.spec.warm.includes(model)) continue;
      this.#memory.set(model, { lastUsedMs: 0, loadedAtMs: 0 });
    }
  }

  /** Loads so far. */
  get loads(): number {
    return this.#loads;
  }

  /** A request for a model came. */
  asked(model: string): void {
    this.#arrivals.observe(model, this.#clock.monotonic());
  }

  /** Names of what is in memory. */
  warm(): ReadonlySet<string> {
    return new Set(this.#memory.keys());
  }

  /** Whether a model is in memory now. */
  state(model: string): LoadState {
    const memory = this.#memory.get(model);
    const nowMs = this.#clock.monotonic();
    if (memory === undefined) return { kind: "cold" };
    return memory.loadedAtMs > nowMs
      ? { kind: "loading", remainingMs: memory.loadedAtMs - nowMs }
      : { kind: "warm", loadTimeMs: null };
  }

  /** What a load of a model would push out: the least recently used that rest. */
  evictedFor(model: string): readonly Eviction[] {
    const tooMany = this.#memory.size + 1 - this.#spec.room;
    if (tooMany <= 0 || this.#memory.has(model)) return [];
    const nowMs = this.#clock.monotonic();
    return this.#byAge().slice(0, tooMany).map(([name, { lastUsedMs }]) => ({
      model: name,
      reloadMs: this.#spec.loadMs,
      idleMs: nowMs - lastUsedMs,
      keepMs: KEEP_ALIVE_MS,
      reuseChance: this.#arrivals.reuseChance(
        name,
        KEEP_ALIVE_MS - (nowMs - lastUsedMs),
        nowMs,
      ),
    }));
  }

  /** What a queue has to know of a load. */
  outlook(model: string): LoadOutlook {
    return {
      isLoaded: this.#memory.has(model),
      loadTimeMs: this.#spec.loadMs,
      evicts: this.evictedFor(model).map((one) => one.model),
    };
  }

  /**
   * Have a model in memory; the least recently used make room.
   *
   * @param noise Factor on the load time.
   * @param inUse Models that may not leave.
   * @returns What that takes from now, in milliseconds.
   */
  load(model: string, noise: number, inUse: ReadonlySet<string>): number {
    const nowMs = this.#clock.monotonic();
    const memory = this.#memory.get(model);
    if (memory !== undefined) {
      memory.lastUsedMs = nowMs;
      return Math.max(0, memory.loadedAtMs - nowMs);
    }
    for (const [name] of this.#byAge().filter(([name]) => !inUse.has(name))) {
      if (this.#memory.size < this.#spec.room) break;
      this.#memory.delete(name);
    }
    const loadMs = this.#spec.loadMs * noise;
    this.#memory.set(model, { lastUsedMs: nowMs, loadedAtMs: nowMs + loadMs });
    this.#loads++;
    return loadMs;
  }

  #byAge(): readonly (readonly [string, ModelMemory])[] {
    return [...this.#memory].toSorted(([, a], [, b]) =>
      a.lastUsedMs - b.lastUsedMs
    );
  }
}
