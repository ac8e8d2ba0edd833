import type { QueueReport } from "../domain/mod.ts";
import type { Clock } from "../platform/mod.ts";
import { ClientTurns } from "./client_turns.ts";
import { LiveList } from "./live_list.ts";
import {
  type LoadOutlook,
  type PlayedLine,
  playLoads,
} from "./load_outlook.ts";
import { inLine, nextInLine, type WaitingWork } from "./queue_order.ts";

/** What enters a queue. */
export interface QueueEntry {
  /** Key of the model, for the limit that each has. */
  readonly model: string;
  /** Whose it is: clients share the device. */
  readonly client: string;
  /** Without a load. */
  readonly expectedMs: number;
  /** Whether its model would have to be loaded now; absent for a model that needs no load. */
  outlook?(): LoadOutlook | null;
  /** Sequences that the device may run side by side when this one is among them. */
  readonly slots: number;
  /** Sequences of its own that it runs side by side where slots are free; absent for one. */
  readonly width?: number;
  /** What is left of it once it runs, or null for its expected work less what it has run. */
  leftMs?(): number | null;
  /** Called once, when it has its slot; perhaps before `enter` returns. */
  onSlot(): void;
}

/** A place in a queue, and later the slot. */
export interface QueuePlace {
  readonly state: "waiting" | "running" | "left";
  /** Sequences of its own that it has slots for: what it gives back when it leaves. */
  readonly lanes: number;
  /** Sequences that ran side by side since it got its slot, on average, itself included. */
  readonly meanConcurrency: number;
  /** Integral of the sequences that run on the device over time, in milliseconds. */
  readonly concurrencyMs: number;
  /** Replace its expected work, counted from now. */
  expect(ms: number): void;
  /** Leave the queue, or give the slot back. */
  leave(): void;
}

/** Where nobody waits, as most of the time. */
const NO_LINE: PlayedLine = { workMs: [], loadedAfter: new Map() };
/** Of an attempt that outlasts its forecast: this share of what it has run is taken to be left. */
const OVERDUE_SHARE = 0.05;

/**
 * The work of one device. Sole writer of who waits and who runs; hands out
 * slots in the order of `nextInLine`.
 */
export class DeviceQueue {
  readonly #clock: Clock;
  /** In order of arrival. */
  readonly #waiting: Place[] = [];
  readonly #running = new LiveList<Place>();
  /** Sequences of those that run. */
  #occupied = 0;
  readonly #turns = new ClientTurns();
  /** Integral of the number running over time, for mean concurrency. */
  #runMs = 0;
  #countedAtMs = 0;

  readonly #onFree: () => void;

  /**
   * @param clock Time.
   * @param onFree Called when a slot fell free that nobody waits for.
   */
  constructor(clock: Clock, onFree: () => void = () => {}) {
    this.#clock = clock;
    this.#onFree = onFree;
  }

  /** Attempts that wait. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Sequences that run: one for nearly every attempt. */
  get running(): number {
    return this.#occupied;
  }

  /** Whether an attempt would start at once. */
  isFree(slots: number): boolean {
    return this.#waiting.length === 0 && this.#occupied < slots;
  }

  /** Attempts of one model, waiting or running. */
  countOf(model: string, state: "waiting" | "running"): number {
    const places = state === "waiting" ? this.#waiting : this.#running;
    let count = 0;
    for (const place of places) if (place.entry.model === model) count++;
    return count;
  }

  /** Take a place at the end of the line. */
  enter(entry: QueueEntry): QueuePlace {
    const place = new Place(entry, this.#clock.monotonic(), {
      leave: (left) => this.#leave(left),
      runMs: () => this.#count(),
      nowMs: () => this.#clock.monotonic(),
    });
    this.#waiting.push(place);
    this.#turns.join(place.client);
    this.#handOut();
    return place;
  }

  /**
   * The queue as it is now.
   *
   * @param slots Slots of the model that asks.
   */
  report(slots: number): QueueReport {
    const nowMs = this.#clock.monotonic();
    const runningMs: number[] = [];
    for (const place of this.#running) {
      const leftMs = place.leftMs(nowMs);
      for (let n = 0; n < place.lanes; n++) runningMs.push(leftMs);
    }
    return { slots, runningMs, waitingMs: this.play().workMs };
  }

  /** The line played forward: what each waits for, and which models are loaded after it. */
  play(): PlayedLine {
    if (this.#waiting.length === 0) return NO_LINE;
    const nowMs = this.#clock.monotonic();
    const outlookOf = this.#outlooks();
    const line = inLine(this.#priced(outlookOf), nowMs, this.#turns);
    const running = new Set([...this.#running].map(({ entry }) => entry.model));
    return playLoads(line.map(({ place }) => place), running, outlookOf);
  }

  /** Waiting places as the order sees them: a load is work too. */
  #priced(
    outlookOf: (model: string) => LoadOutlook | null,
  ): readonly PricedPlace[] {
    return this.#waiting.map((place) => {
      const outlook = outlookOf(place.model);
      const loadMs = outlook === null || outlook.isLoaded
        ? 0
        : outlook.loadTimeMs;
      return {
        place,
        client: place.client,
        enteredAtMs: place.enteredAtMs,
        expectedMs: place.expectedMs + loadMs,
      };
    });
  }

  /** Each model is asked about once. */
  #outlooks(): (model: string) => LoadOutlook | null {
    const known = new Map<string, LoadOutlook | null>();
    return (model) => {
      let outlook = known.get(model);
      if (outlook === undefined) {
        const place = this.#waiting.find((one) => one.model === model);
        outlook = place?.entry.outlook?.() ?? null;
        known.set(model, outlook);
      }
      return outlook;
    };
  }

  #handOut(): void {
    for (;;) {
      const nowMs = this.#clock.monotonic();
      const at = this.#waiting.length < 2
        ? 0
        : nextInLine(this.#priced(this.#outlooks()), nowMs, this.#turns);
      const next = this.#waiting[at];
      // Nobody behind it may start sooner, or wide models would never start.
      if (next === undefined || this.#occupied >= next.entry.slots) return;
      this.#turns.give(next.client, next.expectedMs);
      this.#turns.leave(next.client);
      this.#waiting.splice(at, 1);
      this.#count();
      this.#running.add(next);
      next.start(nowMs, next.entry.slots - this.#occupied);
      this.#occupied += next.lanes;
      next.entry.onSlot();
    }
  }

  #leave(place: Place): void {
    this.#count();
    if (this.#running.delete(place)) this.#occupied -= place.lanes;
    const at = this.#waiting.indexOf(place);
    if (at >= 0) {
      this.#waiting.splice(at, 1);
      this.#turns.leave(place.client);
    }
    this.#handOut();
    if (this.#waiting.length > 0) return;
    this.#onFree();
  }

  #count(): number {
    const nowMs = this.#clock.monotonic();
    this.#runMs += this.#occupied * (nowMs - this.#countedAtMs);
    this.#countedAtMs = nowMs;
    return this.#runMs;
  }
}

/** A place as the order of the line sees it. */
interface PricedPlace extends WaitingWork {
  readonly place: Place;
}

/** What a place asks of its queue. */
interface PlaceOwner {
  leave(place: Place): void;
  runMs(): number;
  nowMs(): number;
}

class Place implements QueuePlace {
  readonly entry: QueueEntry;
  readonly enteredAtMs: number;
  readonly client: string;
  readonly model: string;
  expectedMs: number;
  lanes = 1;
  readonly #owner: PlaceOwner;
  #state: "waiting" | "running" | "left" = "waiting";
  #startedAtMs = 0;
  #expectedEndMs = 0;
  #runMsAtStart = 0;

  constructor(entry: QueueEntry, enteredAtMs: number, owner: PlaceOwner) {
    this.entry = entry;
    this.enteredAtMs = enteredAtMs;
    this.client = entry.client;
    this.model = entry.model;
    this.expectedMs = entry.expectedMs;
    this.#owner = owner;
  }

  get state(): "waiting" | "running" | "left" {
    return this.#state;
  }

  get meanConcurrency(): number {
    const ranMs = this.#owner.nowMs() - this.#startedAtMs;
    if (this.#state !== "running" || ranMs <= 0) return 1;
    return (this.#owner.runMs() - this.#runMsAtStart) / ranMs;
  }

  get concurrencyMs(): number {
    return this.#owner.runMs();
  }

  start(nowMs: number, freeSlots: number): void {
    this.#state = "running";
    this.lanes = Math.max(1, Math.min(this.entry.width ?? 1, freeSlots));
    this.#startedAtMs = nowMs;
    this.#expectedEndMs = nowMs + this.expectedMs;
    this.#runMsAtStart = this.#owner.runMs();
  }

  expect(ms: number): void {
    this.expectedMs = ms;
    this.#expectedEndMs = this.#owner.nowMs() + ms;
  }

  leftMs(nowMs: number): number {
    return this.entry.leftMs?.() ?? Math.max(
      this.#expectedEndMs - nowMs,
      OVERDUE_SHARE * (nowMs - this.#startedAtMs),
    );
  }

  leave(): void {
    if (this.#state === "left") return;
    this.#state = "left";
    this.#owner.leave(this);
  }
}
