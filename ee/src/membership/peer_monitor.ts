import {
  type Availability,
  type Health,
  type HealthState,
  type Hop,
  type Log,
  stepHealth,
  testPauseMs,
  UNMET,
} from "@covey/core/domain";
import type { Clock } from "@covey/core/platform";
import { HopMeter } from "../link/hop_meter.ts";
import { LinkError } from "../link/link_error.ts";
import type { Polled } from "./status_call.ts";
import type { StatusMessage } from "./status_message.ts";
import type { TestVerdict } from "./test_call.ts";

const POLL_EVERY_MS = 2000;
const AWAY_EVERY_MS = 1000;
/** Pause before the next try after a failure that came at once. */
const RETRY_MS = 250;
/** A byte this young proves that the member lives, whatever a poll says. */
const HEARD_WITHIN_MS = 2000;

/** Polls after which what a member says instead of a status is not over in a moment, as while news of a new member spreads. */
const LASTING_TIMES = 3;

/** What watching a peer needs. */
export interface MonitorOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Name to call it by before its first status. */
  readonly name: string;
  /** Ask it once. */
  poll(signal: AbortSignal): Promise<Polled>;
  /** Have it test its engines. */
  test(signal: AbortSignal): Promise<TestVerdict>;
  /** Monotonic time of the last byte from it, or null. */
  lastHeardMs(): number | null;
  /** A status came. */
  onStatus(status: StatusMessage): void;
  /** Its health has changed. */
  onHealth?(to: HealthState): void;
  /** It is held to be gone: what runs there has to end. */
  onOffline(): void;
}

/** A test that runs. */
interface Testing {
  readonly stop: AbortController;
  readonly over: Promise<void>;
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
  /** What its last answers said instead of a status; null where one came, or none at all. */
  #denial: { readonly why: string; readonly times: number } | null = null;
  #again = false;
  /** Pause after the last failed test, and the time until which it lasts. */
  #testPauseMs = 0;
  #noTestBeforeMs = 0;
  #testing: Testing | null = null;

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

  /** Why it answers and gives no status, once that has lasted; null for nothing. */
  get denial(): string | null {
    const { times = 0, why = null } = this.#denial ?? {};
    return times < LASTING_TIMES ? null : why;
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
    if (this.#denial !== null && this.#askers.size === 0) return;
    if (this.#polling) this.#again = true;
    else this.#wake?.();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort(new DOMException("The peer is let go", "AbortError"));
    this.#wake?.();
    await this.#loop;
    await this.#testing?.over;
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
    if (passed && this.#health.state === "recovery") await this.#waitForTest();
    const { failures, state } = this.#health;
    const tookMs = clock.monotonic() - startMs;
    if (state === "recovery") return AWAY_EVERY_MS - tookMs;
    if (state === "offline") return AWAY_EVERY_MS;
    if (failures === 0) return POLL_EVERY_MS;
    return tookMs >= RETRY_MS ? 0 : RETRY_MS;
  }

  async #ask(signal: AbortSignal): Promise<boolean> {
    const { clock, lastHeardMs, onStatus, poll } = this.#options;
    try {
      const { roundTripMs, status } = await poll(signal);
      if (signal.aborted) return false;
      this.#hop.observe(roundTripMs);
      this.#held = { status, atMs: clock.monotonic() };
      this.#denial = null;
      this.#pass();
      onStatus(status);
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      const problem = error instanceof LinkError ? error.problem : "broken";
      this.#noteDenial(problem === "protocol" ? error : null);
      const heardMs = lastHeardMs();
      const lives = heardMs !== null && problem !== "protocol" &&
        clock.monotonic() - heardMs < HEARD_WITHIN_MS;
      if (problem === "refused") this.#fail("all_refused", error);
      else if (!lives) this.#fail("failure", error);
      return false;
    }
  }

  #noteDenial(error: unknown): void {
    if (!(error instanceof Error)) {
      this.#denial = null;
      return;
    }
    const { message: why } = error;
    const times = this.#denial?.why === why ? this.#denial.times + 1 : 1;
    this.#denial = { why, times };
    if (times !== LASTING_TIMES) return;
    this.#options.log.warn("A member gives no status", {
      member: this.name,
      why,
    });
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
   * Wait for the test after a recovery until it is time for a poll: a slow test
   * goes on beside the polls, which tell when the member has gone again.
   */
  async #waitForTest(): Promise<void> {
    this.#testing ??= this.#beginTest();
    const { clock } = this.#options;
    const enough = new AbortController();
    const due = clock.sleep(AWAY_EVERY_MS, enough.signal).catch(() => {});
    await Promise.race([this.#testing.over, due]);
    enough.abort();
    await due;
  }

  #beginTest(): Testing {
    const stop = new AbortController();
    const both = AbortSignal.any([stop.signal, this.#life.signal]);
    const over = this.#test(both).then((why) => {
      this.#testing = null;
      if (both.aborted) return;
      const kind = why === null ? "test_passed" : "test_failed";
      this.#testPauseMs = why === null ? 0 : testPauseMs(this.#testPauseMs);
      this.#noTestBeforeMs = this.#options.clock.monotonic() +
        this.#testPauseMs;
      this.#step(
        stepHealth(this.#health, { kind }, this.#met),
        why ?? undefined,
      );
    });
    return { stop, over };
  }

  /**
   * Have it test its engines. For a member whose build can not, a second round
   * trip stands in: it proves the link both ways, not that an engine answers.
   *
   * @returns Null when it passed, else why not.
   */
  async #test(signal: AbortSignal): Promise<string | null> {
    try {
      const verdict = await this.#options.test(signal);
      switch (verdict.kind) {
        case "reported": {
          const { passed, reason } = verdict.report;
          return passed ? null : reason ?? "Its test failed";
        }
        case "too_old":
          await this.#options.poll(signal);
          return null;
        default:
          return verdict satisfies never;
      }
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  #step(next: Health, why?: string): void {
    const before = this.#health.state;
    this.#health = next;
    if (next.state === "healthy") this.#met = true;
    // One that has gone again, or is well, has nothing to prove now.
    if (next.state !== "recovery") this.#testing?.stop.abort();
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
