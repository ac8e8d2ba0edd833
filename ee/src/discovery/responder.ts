import type { Clock, Entropy } from "@covey/core/platform";
import { isKnown, planAnswer } from "./dns/answer_plan.ts";
import {
  type DnsMessage,
  type DnsRecord,
  recordKey,
  responseOf,
} from "./dns/message.ts";
import { isConflict, judgeProbe, probeOf } from "./dns/probe.ts";
import {
  additionalRecords,
  goodbyeRecords,
  type OwnRecords,
} from "./dns/service_records.ts";
import type { Endpoint } from "./net/multicast_socket.ts";

const PROBES = 3;
const PROBE_INTERVAL_MS = 250;
const ANNOUNCE_AGAIN_MS = 1_000;
/** After losing a tie the other goes first (RFC 6762, 8.2). */
const LOST_WAIT_MS = 1_000;
const RATE_MS = 1_000;
const URGENT_RATE_MS = 250;
const SHARED_DELAY_MS = { least: 20, most: 120 } as const;
const TRUNCATED_DELAY_MS = { least: 400, most: 500 } as const;
const LEGACY_TTL_SECONDS = 10;
const MOST_UNICAST_PER_SECOND = 20;

/** What a responder stands on. */
export interface ResponderPorts {
  readonly clock: Clock;
  readonly entropy: Entropy;
  /** Names and records of this node on the interface, as they are now. */
  records(): OwnRecords;
  send(message: DnsMessage, to?: Endpoint): void;
  /** Take note of records that go out, by `recordKey`. */
  remember(keys: readonly string[]): void;
  /** Whether this node itself sent a record, on any interface. */
  isOwn(key: string): boolean;
  /** Another holds the names. `probing` says that it was there first. */
  onConflict(during: "probing" | "announced"): void;
  /** The names were probed and nobody objected. */
  onAnnounced(): void;
}

interface Pending {
  readonly record: DnsRecord;
  readonly dueMs: number;
  readonly askers: readonly string[];
}

/**
 * Speaks for this node on one socket: probes its names, announces them,
 * answers, and defends them (RFC 6762, sections 6 to 10).
 */
export class Responder implements Disposable {
  readonly #ports: ResponderPorts;
  readonly #timers = new Set<Disposable>();
  readonly #lastSentMs = new Map<string, number>();
  #pending = new Map<string, Pending>();
  #flushTimer: Disposable | null = null;
  #unicastMs: number[] = [];
  #state: "stopped" | "probing" | "announced" = "stopped";

  constructor(ports: ResponderPorts) {
    this.#ports = ports;
  }

  get state(): "stopped" | "probing" | "announced" {
    return this.#state;
  }

  /**
   * Probe the names and announce them.
   *
   * @param waitMs Time to wait before that.
   */
  probe(waitMs = 0): void {
    this.#reset();
    this.#state = "probing";
    const firstMs = waitMs + this.#ports.entropy.float() * PROBE_INTERVAL_MS;
    for (let n = 0; n < PROBES; n++) {
      this.#after(firstMs + n * PROBE_INTERVAL_MS, () => {
        const { unique } = this.#ports.records();
        this.#ports.remember(unique.map(recordKey));
        this.#ports.send(probeOf(unique));
      });
    }
    this.#after(firstMs + PROBES * PROBE_INTERVAL_MS, () => this.announce());
  }

  /** Announce the names, twice; they have been probed on this interface. */
  announce(): void {
    this.#reset();
    this.#state = "announced";
    this.#ports.onAnnounced();
    const say = () => {
      const own = this.#ports.records();
      this.#multicast([...own.shared, ...own.unique]);
    };
    say();
    this.#after(ANNOUNCE_AGAIN_MS, say);
  }

  /**
   * Take back what was announced.
   *
   * @returns The message to send, or null where nothing was announced.
   */
  goodbye(): DnsMessage | null {
    if (this.#state !== "announced") return null;
    return responseOf({ answers: goodbyeRecords(this.#ports.records()) });
  }

  /**
   * Take in a message.
   *
   * @param message What was heard, one's own included.
   * @param from Who sent it: somebody on the link.
   */
  hear(message: DnsMessage, from: Endpoint): void {
    if (this.#state === "stopped") return;
    const own = this.#ports.records();
    if (message.kind === "response") {
      if (isConflict(message, own.unique, this.#ports.isOwn)) {
        this.#ports.onConflict(this.#state);
      }
      return;
    }
    if (this.#state === "probing") {
      if (judgeProbe(message, own.unique, this.#ports.isOwn) === "lost") {
        this.probe(LOST_WAIT_MS);
      }
      return;
    }
    this.#answer(message, from, own);
  }

  [Symbol.dispose](): void {
    this.#reset();
    this.#state = "stopped";
  }

  #answer(query: DnsMessage, from: Endpoint, own: OwnRecords): void {
    const asker = `${from.address} ${from.port}`;
    if (query.questions.length === 0) {
      this.#withdraw(query.answers, asker);
      return;
    }
    const plan = planAnswer(query, from.port, own);
    switch (plan.kind) {
      case "silent":
        return;
      case "multicast":
        this.#schedule(plan.records, asker, this.#delayMs(query, plan));
        return;
      case "unicast": {
        if (!this.#mayUnicast()) return;
        const additionals = additionalRecords(plan.records, own);
        this.#ports.send(
          responseOf({ answers: plan.records, additionals }),
          from,
        );
        // Others profit too if they have not heard it for long (RFC 6762, 5.4).
        const nowMs = this.#ports.clock.monotonic();
        const stale = plan.records.filter((record) =>
          nowMs - this.#lastMs(record) > record.ttlSeconds * 250
        );
        this.#schedule(stale, asker, this.#random(SHARED_DELAY_MS));
        return;
      }
      case "legacy": {
        if (!this.#mayUnicast()) return;
        const plain = (record: DnsRecord): DnsRecord => ({
          ...record,
          flush: false,
          ttlSeconds: Math.min(record.ttlSeconds, LEGACY_TTL_SECONDS),
        });
        this.#ports.send(
          responseOf({
            id: query.id,
            questions: plan.questions,
            answers: plan.records.map(plain),
            additionals: additionalRecords(plan.records, own).map(plain),
          }),
          from,
        );
        return;
      }
      default:
        plan satisfies never;
    }
  }

  #delayMs(
    query: DnsMessage,
    plan: { readonly shared: boolean; readonly urgent: boolean },
  ): number | "urgent" {
    if (plan.urgent) return "urgent";
    if (query.truncated) return this.#random(TRUNCATED_DELAY_MS);
    return plan.shared ? this.#random(SHARED_DELAY_MS) : 0;
  }

  #schedule(
    records: readonly DnsRecord[],
    asker: string,
    delay: number | "urgent",
  ): void {
    const nowMs = this.#ports.clock.monotonic();
    const isUrgent = delay === "urgent";
    for (const record of records) {
      const key = recordKey(record);
      const earliestMs = this.#lastMs(record) +
        (isUrgent ? URGENT_RATE_MS : RATE_MS);
      const dueMs = Math.max(nowMs + (isUrgent ? 0 : delay), earliestMs);
      const before = this.#pending.get(key);
      this.#pending.set(key, {
        record,
        dueMs: Math.min(dueMs, before?.dueMs ?? dueMs),
        askers: [...new Set([...before?.askers ?? [], asker])],
      });
    }
    this.#arm();
  }

  /** Known answers that came after a truncated query: that asker needs these no more. */
  #withdraw(known: readonly DnsRecord[], asker: string): void {
    for (const [key, { record, askers, dueMs }] of this.#pending) {
      if (!askers.includes(asker) || !isKnown(record, known)) continue;
      const left = askers.filter((other) => other !== asker);
      if (left.length === 0) this.#pending.delete(key);
      else this.#pending.set(key, { record, askers: left, dueMs });
    }
    this.#arm();
  }

  #arm(): void {
    this.#flushTimer?.[Symbol.dispose]();
    this.#flushTimer = null;
    if (this.#pending.size === 0) return;
    const nowMs = this.#ports.clock.monotonic();
    const dueMs = Math.min(...[...this.#pending.values()].map((p) => p.dueMs));
    this.#flushTimer = this.#ports.clock.after(
      Math.max(dueMs - nowMs, 0),
      () => {
        this.#flushTimer = null;
        this.#flush();
      },
    );
  }

  #flush(): void {
    const nowMs = this.#ports.clock.monotonic();
    const due: DnsRecord[] = [];
    for (const [key, { record, dueMs }] of this.#pending) {
      if (dueMs > nowMs) continue;
      this.#pending.delete(key);
      due.push(record);
    }
    if (due.length > 0) this.#multicast(due);
    this.#arm();
  }

  #multicast(answers: readonly DnsRecord[]): void {
    const nowMs = this.#ports.clock.monotonic();
    const additionals = additionalRecords(answers, this.#ports.records());
    const keys = [...answers, ...additionals].map(recordKey);
    for (const key of keys) this.#lastSentMs.set(key, nowMs);
    this.#ports.remember(keys);
    this.#ports.send(responseOf({ answers, additionals }));
  }

  #lastMs(record: DnsRecord): number {
    return this.#lastSentMs.get(recordKey(record)) ?? -Infinity;
  }

  #mayUnicast(): boolean {
    const nowMs = this.#ports.clock.monotonic();
    this.#unicastMs = this.#unicastMs.filter((ms) => nowMs - ms < RATE_MS);
    if (this.#unicastMs.length >= MOST_UNICAST_PER_SECOND) return false;
    this.#unicastMs.push(nowMs);
    return true;
  }

  #random({ least, most }: { least: number; most: number }): number {
    return least + this.#ports.entropy.float() * (most - least);
  }

  #after(ms: number, call: () => void): void {
    const timer = this.#ports.clock.after(ms, () => {
      this.#timers.delete(timer);
      call();
    });
    this.#timers.add(timer);
  }

  #reset(): void {
    for (const timer of this.#timers) timer[Symbol.dispose]();
    this.#timers.clear();
    this.#flushTimer?.[Symbol.dispose]();
    this.#flushTimer = null;
    this.#pending = new Map();
    this.#lastSentMs.clear();
  }
}
