import {
  type Availability,
  type Health,
  type HealthState,
  type Hop,
  type Log,
  stepHealth,
  UNMET,
} from "@covey/core/domain";
import type { Clock } from "@covey/core/platform";
import { HopMeter } from "../link/hop_meter.ts";
import { LinkError } from "../link/link_error.ts";
import type { Polled } from "./status_call.ts";
import type { StatusMessage } from "./status_message.ts";

const POLL_EVERY_MS = 2000;
const AWAY_EVERY_MS = 1000;
/** Pause before the next try after a failure that came at once. */
const RETRY_MS = 250;
/** A byte this young proves that the member lives, whatever a poll says. */
const HEARD_WITHIN_MS = 2000;
const FIRST_TEST_PAUSE_MS = 5000;
const LONGEST_TEST_PAUSE_MS = 60_000;

/** What watching a peer needs. */
export interface MonitorOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Name to call it by before its first status. */
  readonly name: string;
  /** Ask it once. */
  poll(signal: AbortSignal): Promise<Polled>;
  /** Monotonic time of the last byte from it, or null. */
  lastHeardMs(): number | null;
  /** A status came. */
  onStatus(status: StatusMessage): void;
  /** Its health has changed. */
  onHealth?(to: HealthState): void;
  /** It is held to be gone: what runs there has to end. */
  onOffline(): void;
}

/** A status and the monotonic time at which it came. */
export interface HeldStatus {
  readonly status: StatusMessage;
  readonly atMs: number;
}

/**
 * Watches one peer: asks for its status every 2 s, and is the only writer of
 * its health, its last status and the round trip to it.
 */
export class PeerMonitor implements AsyncDisposable {
  readonly #options: MonitorOptions;
  readonly #hop = new HopMeter();
  readonly #life = new AbortController();
  readonly #loop: Promise<void>;
  #health: Health = UNMET;
  #met = false;
  #held: HeldStatus | null = null;
  #wake: (() => void) | null = null;
  /** Who waits for a poll that has not begun yet. */
  readonly #askers = new Set<() => void>();
  #polling = false;
  /** Whether its last answer made no sense. */
  #isUnreadable = false;
  #again = false;
  /** Pause after the last failed test, and the time until which it lasts. */
  #testPauseMs = 0;
  #noTestBeforeMs = 0;

  constructor(options: MonitorOptions) {
    this.#options = options;
    this.#loop = this.#run();
  }

  get health(): Health {
    return this.#health;
  }

  /** Its last status, or null before the first. */
  get held(): HeldStatus | null {
    return this.#held;
  }

  get name(): string {
    return this.#held?.status.name ?? this.#options.name;
  }

  hop(): Hop {
    return this.#hop.hop();
  }

  /** Whether work may be sent to it. */
  availability(): Availability {
    if (this.#held?.status.draining === true) {
      return { kind: "unavailable", reason: "It is draining" };
    }
    switch (this.#health.state) {
      case "healthy":
        return { kind: "available" };
      case "degraded":
        return { kind: "degraded", reason: "It missed its last poll" };
      case "offline":
        return { kind: "unavailable", reason: "It is off line" };
      case "recovery":
        return { kind: "unavailable", reason: "It is being tested" };
      default:
        return this.#health.state satisfies never;
    }
  }

  /** Note a round trip that was measured elsewhere. */
  observeRoundTrip(roundTripMs: number): void {
    this.#hop.observe(roundTripMs);
  }

  /**
   * Ask now.
   *
   * @param signal Aborting it ends the waiting, not the question.
   * @returns When the answer, or that there is none, is taken in.
   */
  refreshed(signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#life.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const asker = () => {
        signal.removeEventListener("abort", asker);
        this.#askers.delete(asker);
        resolve();
      };
      signal.addEventListener("abort", asker, { once: true });
      this.#askers.add(asker);
      this.pollNow();
    });
  }

  /** Ask now, and not only when it is time. */
  pollNow(): void {
    // Two that cannot read each other would wake each other without end.
    if (this.#isUnreadable && this.#askers.size === 0) return;
    if (this.#polling) this.#again = true;
    else this.#wake?.();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort(new DOMException("The peer is let go", "AbortError"));
    this.#wake?.();
    await this.#loop;
    for (const told of [...this.#askers]) told();
  }

  async #run(): Promise<void> {
    const { signal } = this.#life;
    while (!signal.aborted) {
      this.#again = false;
      this.#polling = true;
      const askers = [...this.#askers];
      const pauseMs = await this.#turn(signal);
      for (const told of askers) told();
      this.#polling = false;
      if (signal.aborted) return;
      if (!this.#again) await this.#pause(pauseMs);
    }
  }

  /** One poll, and after a recovery its test. Returns the pause until the next. */
  async #turn(signal: AbortSignal): Promise<number> {
    const { clock } = this.#options;
    const startMs = clock.monotonic();
    const passed = await this.#ask(signal);
    if (signal.aborted) return 0;
    if (passed && this.#health.state === "recovery") await this.#test(signal);
    const { failures, state } = this.#health;
    if (state === "offline" || state === "recovery") return AWAY_EVERY_MS;
    if (failures === 0) return POLL_EVERY_MS;
    const tookMs = clock.monotonic() - startMs;
    return tookMs >= RETRY_MS ? 0 : RETRY_MS;
  }

  async #ask(signal: AbortSignal): Promise<boolean> {
    const { clock, lastHeardMs, onStatus, poll } = this.#options;
    try {
      const { roundTripMs, status } = await poll(signal);
      if (signal.aborted) return false;
      this.#hop.observe(roundTripMs);
      this.#held = { status, atMs: clock.monotonic() };
      this.#isUnreadable = false;
      this.#pass();
      onStatus(status);
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      const problem = error instanceof LinkError ? error.problem : "broken";
      this.#isUnreadable = problem === "protocol";
      const heardMs = lastHeardMs();
      const lives = heardMs !== null && problem !== "protocol" &&
        clock.monotonic() - heardMs < HEARD_WITHIN_MS;
      if (problem === "refused") this.#fail("all_refused", error);
      else if (!lives) this.#fail("failure", error);
      return false;
    }
  }

  #pass(): void {
    const away = this.#health.state === "offline";
    const early = this.#options.clock.monotonic() < this.#noTestBeforeMs;
    // A member that failed its test waits for the next one, however it polls.
    if (away && early) return;
    this.#step(stepHealth(this.#health, { kind: "pass" }, this.#met));
  }

  #fail(kind: "all_refused" | "failure", error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    this.#step(stepHealth(this.#health, { kind }, this.#met), why);
  }

  /**
   * The test after a recovery. A second status round trip stands in for a test
   * task: it proves the link both ways, not that an engine answers.
   */
  async #test(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const passed = await this.#options.poll(signal).then(
      () => true,
      () => false,
    );
    if (signal.aborted) return;
    if (passed) this.#testPauseMs = 0;
    else {
      this.#testPauseMs = Math.min(
        Math.max(FIRST_TEST_PAUSE_MS, this.#testPauseMs * 2),
        LONGEST_TEST_PAUSE_MS,
      );
      this.#noTestBeforeMs = clock.monotonic() + this.#testPauseMs;
    }
    const kind = passed ? "test_passed" : "test_failed";
    this.#step(stepHealth(this.#health, { kind }, this.#met));
  }

  #step(next: Health, why?: string): void {
    const before = this.#health.state;
    this.#health = next;
    if (next.state === "healthy") this.#met = true;
    if (next.state === before) return;
    const { log, onHealth, onOffline } = this.#options;
    onHealth?.(next.state);
    const fields = { member: this.name, from: before, to: next.state, why };
    if (next.state === "healthy") log.info("A member is healthy", fields);
    else log.warn("A member's health changed", fields);
    if (next.state === "offline") onOffline();
  }

  async #pause(ms: number): Promise<void> {
    if (ms <= 0) return;
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    try {
      await this.#options.clock.sleep(ms, woken.signal);
    } catch {
      // Woken before the time was up.
    }
    this.#wake = null;
  }
}
