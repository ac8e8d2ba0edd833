import {
  type Log,
  type MachineReading,
  UNKNOWN_MACHINE,
} from "../domain/mod.ts";
import type { Clock } from "../platform/mod.ts";
import { mergeFacts } from "./merge_facts.ts";
import { type Presence, stepPresence, UNASKED } from "./presence.ts";
import type { Facts, Sensor } from "./sensor.ts";

/** The start of a node is not the moment to look at its machine. */
const FIRST_MS = 1000;
const EVERY_MS = { fast: 2000, slow: 10_000, rare: 30_000 } as const;
const IDLE_EVERY_MS = { fast: 10_000, slow: 30_000, rare: 30_000 } as const;
/** Without work for this long a node is idle. */
const IDLE_AFTER_MS = 60_000;
/** Timers may come this early. */
const SLACK_MS = 50;

/** What sampling needs. */
export interface SamplerOptions {
  /** Load the sensors, the most trusted first. Called once, after the start. */
  load(): Promise<readonly Sensor[]>;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether this node has work now. */
  isBusy(): boolean;
  /** A sensor was read. */
  onReading(reading: MachineReading): void;
}

interface Watched {
  readonly sensor: Sensor;
  presence: Presence;
  facts: Facts | null;
  dueMs: number;
  running: Promise<void> | null;
  hasFailed: boolean;
}

/**
 * Asks each sensor at its pace, one question at a time, and less often while
 * the node is idle. Sole writer of the reading.
 */
export class Sampler implements AsyncDisposable {
  readonly #options: SamplerOptions;
  #watched: readonly Watched[] = [];
  readonly #life = new AbortController();
  readonly #running = new Set<Promise<void>>();
  #reading: MachineReading = UNKNOWN_MACHINE;
  #timer: Disposable | null = null;
  #busyAtMs: number;

  constructor(options: SamplerOptions) {
    this.#options = options;
    this.#busyAtMs = options.clock.monotonic();
    this.#timer = options.clock.after(FIRST_MS, () => this.#begin());
  }

  /** What is known now. */
  get reading(): MachineReading {
    return this.#reading;
  }

  /**
   * Ask some sensors now, as far as this machine has them.
   *
   * @param names Which.
   */
  async look(names: readonly string[]): Promise<void> {
    await Promise.all(
      this.#watched.filter(({ facts, sensor }) =>
        facts !== null && names.includes(sensor.name)
      ).map(async (watched) => {
        // What is being asked for was asked before: things may have changed.
        await watched.running;
        if (!this.#life.signal.aborted) {
          await (watched.running ?? this.#start(watched));
        }
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    this.#life.abort(new DOMException("The node is stopping", "AbortError"));
    await Promise.all(this.#running);
  }

  #begin(): void {
    const { clock, load, log } = this.#options;
    const begun = load().then((sensors) => {
      if (this.#life.signal.aborted || sensors.length === 0) return;
      const nowMs = clock.monotonic();
      this.#watched = sensors.map((sensor) => ({
        sensor,
        presence: UNASKED,
        facts: null,
        dueMs: nowMs,
        running: null,
        hasFailed: false,
      }));
      this.#tick();
    }).catch((error) =>
      log.error("The sensors could not be started", {
        error: error instanceof Error ? error.message : String(error),
      })
    ).finally(() => this.#running.delete(begun));
    this.#running.add(begun);
  }

  #tick(): void {
    const { clock, isBusy } = this.#options;
    const nowMs = clock.monotonic();
    if (isBusy()) this.#busyAtMs = nowMs;
    const everyMs = nowMs - this.#busyAtMs >= IDLE_AFTER_MS
      ? IDLE_EVERY_MS
      : EVERY_MS;
    for (const watched of this.#watched) {
      const { dueMs, presence, running, sensor } = watched;
      if (
        running !== null ||
        Math.max(dueMs, presence.notBeforeMs) > nowMs + SLACK_MS
      ) {
        continue;
      }
      watched.dueMs = nowMs + everyMs[sensor.pace];
      this.#start(watched);
    }
    this.#timer = clock.after(everyMs.fast, () => this.#tick());
  }

  #start(watched: Watched): Promise<void> {
    const done = this.#sample(watched).finally(() => {
      watched.running = null;
      this.#running.delete(done);
    });
    watched.running = done;
    this.#running.add(done);
    return done;
  }

  async #sample(watched: Watched): Promise<void> {
    const { clock, onReading } = this.#options;
    const facts = await this.#ask(watched);
    if (this.#life.signal.aborted) return;
    watched.presence = stepPresence(
      watched.presence,
      facts !== null,
      clock.monotonic(),
    );
    if (facts === null && watched.facts === null) return;
    watched.facts = facts;
    this.#reading = mergeFacts(
      this.#watched.flatMap((one) => one.facts ?? []),
    );
    onReading(this.#reading);
  }

  async #ask(watched: Watched): Promise<Facts | null> {
    try {
      return await watched.sensor.sample(this.#life.signal);
    } catch (error) {
      // Once a sensor: what fails now will fail at every look.
      if (!watched.hasFailed && !this.#life.signal.aborted) {
        watched.hasFailed = true;
        this.#options.log.warn("A sensor can not be read", {
          sensor: watched.sensor.name,
          error: error instanceof Error ? error.message : String(error),
        });
      }
      return null;
    }
  }
}
