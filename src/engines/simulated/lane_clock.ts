import type { Clock } from "../../platform/mod.ts";
import {
  type LaneSpeed,
  type LaneTicket,
  type LaneWork,
  SimulatedLane,
} from "./simulated_lane.ts";

/** Timers wake late, never early, so fractions of a millisecond are rounded up. */
const EPSILON_MS = 1e-6;

/** Drives a lane by a clock: one timer, for whatever is due next. */
export class LaneClock implements Disposable {
  readonly lane: SimulatedLane;
  readonly #clock: Clock;
  #timer: Disposable | null = null;

  constructor(clock: Clock, speed: LaneSpeed) {
    this.#clock = clock;
    this.lane = new SimulatedLane(speed);
  }

  /**
   * Enter the queue.
   *
   * @returns Disposing it leaves, wherever the sequence stands.
   */
  add(work: LaneWork): Disposable {
    const ticket = this.#atNow((nowMs) => this.lane.add(work, nowMs));
    return { [Symbol.dispose]: () => this.#remove(ticket) };
  }

  /** Begin to load. */
  load(): void {
    this.#atNow((nowMs) => this.lane.load(nowMs));
  }

  /** Be cold again, if nothing waits or runs. */
  unload(): void {
    this.#atNow(() => this.lane.unload());
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = null;
  }

  #remove(ticket: LaneTicket): void {
    this.#atNow((nowMs) => this.lane.remove(ticket, nowMs));
  }

  #atNow<Result>(act: (nowMs: number) => Result): Result {
    const nowMs = this.#clock.monotonic();
    this.lane.catchUp(nowMs);
    const result = act(nowMs);
    this.lane.catchUp(nowMs);
    this.#arm();
    return result;
  }

  #arm(): void {
    this[Symbol.dispose]();
    const nextMs = this.lane.nextMs();
    if (nextMs === null) return;
    const waitMs = nextMs - this.#clock.monotonic();
    this.#timer = this.#clock.after(
      Math.max(Math.ceil(waitMs - EPSILON_MS), 0),
      () => this.#atNow(() => {}),
    );
  }
}
