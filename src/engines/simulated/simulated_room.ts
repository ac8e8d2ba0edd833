import type { Eviction } from "../../domain/mod.ts";
import type { LaneClock } from "./lane_clock.ts";

/** A model as far as room for it is concerned. */
export interface Roomer {
  readonly name: string;
  readonly loadMs: number;
  readonly clock: LaneClock;
}

/**
 * Room for so many loaded models: another one takes the place of the one that
 * is idle and was used least recently, or waits until there is one.
 */
export class SimulatedRoom {
  readonly #most: number;
  readonly #roomers: readonly Roomer[];
  readonly #usedAtMs = new Map<string, number>();

  /**
   * @param most Models that fit.
   * @param roomers All models that need room.
   */
  constructor(most: number, roomers: readonly Roomer[]) {
    this.#most = most;
    this.#roomers = roomers;
  }

  /** Load what waits, as far as there is room. */
  settle(nowMs: number): void {
    for (const { clock, name } of this.#roomers) {
      if (!clock.lane.isIdle) this.#usedAtMs.set(name, nowMs);
    }
    const wanting = this.#roomers
      .filter(({ clock }) => clock.lane.waitsForLoadSinceMs !== null)
      .toSorted((a, b) => since(a) - since(b));
    for (const one of wanting) {
      if (this.#loaded().length >= this.#most) {
        const victim = this.#victims().find(({ clock }) => clock.lane.isIdle);
        if (victim === undefined) return;
        victim.clock.unload();
      }
      one.clock.load();
    }
  }

  /** What loading a model would push out. */
  evictions(name: string, nowMs: number): readonly Eviction[] {
    const excess = this.#loaded().length + 1 - this.#most;
    if (excess <= 0 || this.#loaded().some((one) => one.name === name)) {
      return [];
    }
    return this.#victims().slice(0, excess).map((one) => ({
      model: one.name,
      reloadMs: one.loadMs,
      idleMs: one.clock.lane.isIdle
        ? nowMs - (this.#usedAtMs.get(one.name) ?? nowMs)
        : 0,
    }));
  }

  #loaded(): readonly Roomer[] {
    return this.#roomers.filter(({ clock }) => clock.lane.loadedMs !== null);
  }

  /** Loaded models, the first to go first: idle ones, longest unused. */
  #victims(): readonly Roomer[] {
    return this.#loaded().toSorted((a, b) =>
      Number(b.clock.lane.isIdle) - Number(a.clock.lane.isIdle) ||
      (this.#usedAtMs.get(a.name) ?? 0) - (this.#usedAtMs.get(b.name) ?? 0)
    );
  }
}

function since({ clock }: Roomer): number {
  return clock.lane.waitsForLoadSinceMs ?? Infinity;
}
