import type { Log } from "@covey/core/domain";
import type { Clock, Entropy } from "@covey/core/platform";
import type { AdmissionOutcome } from "../admission/admission_outcome.ts";
import { scheduleAdmission } from "../admission/retry_schedule.ts";
import type { KeyHash } from "../identity/key_hash.ts";
import { formatAddress, type LinkAddress } from "../link/link_address.ts";
import { LinkError } from "../link/link_error.ts";
import type { MemberChannel } from "../link/member_channel.ts";
import {
  describeTarget,
  type DialTarget,
  HASTY_PAUSE_MS,
  planDials,
} from "./dial_plan.ts";

/** Most targets remembered. */
const MOST_TARGETS = 256;
/** Most addresses whose last dial is remembered. */
const MOST_ADDRESSES = 1024;
/** Failures to reach a sighting after which it is left alone for longer. */
const MOST_HASTY = 3;
/** How long the one with the greater key hash lets the other begin. */
const YIELD_MS = 500;
/** A whole dial with its admission; the exchange itself takes at most 8 s. */
const DIAL_LIMIT_MS = 12_000;

/** A node that answered a dial. */
export interface Met {
  readonly address: LinkAddress;
  /** A channel pinned to the key that answered; the dialer closes it. */
  readonly channel: MemberChannel;
}

/** Somebody who was dialled and is no member yet. */
export interface FailedDial {
  readonly name: string;
  readonly kind: "sighting" | "static";
  readonly addresses: readonly LinkAddress[];
  /** How it ended: without a connection, or with the admission. */
  readonly problem: string;
}

/** What the dialer asks of the rest of the cluster. */
export interface DialerOptions {
  readonly own: KeyHash;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  /** Connect to whoever answers. */
  dial(
    addresses: readonly LinkAddress[],
    signal: AbortSignal,
  ): Promise<Met>;
  /** Whether a key may speak here already. */
  isMember(keyHash: KeyHash): boolean;
  /**
   * A member answered at an address.
   *
   * @param sighted All addresses of the sighting that led there; empty for a static peer.
   */
  onMember(
    keyHash: KeyHash,
    address: LinkAddress,
    sighted: readonly LinkAddress[],
  ): void;
  /** This node's own key answered. */
  onOwnKey(met: Met, signal: AbortSignal): Promise<void>;
  /** Ask for admission, and take the peer in when it comes. */
  admit(met: Met, signal: AbortSignal): Promise<AdmissionOutcome>;
}

/**
 * Dials what discovery saw and what the operator named, finds out by its key
 * who answers, and asks unknown ones for admission. Who fails is left alone
 * for longer each time.
 */
export class Dialer implements AsyncDisposable {
  readonly #options: DialerOptions;
  readonly #targets = new Map<string, DialTarget>();
  readonly #dialledMs = new Map<string, number>();
  /** How the last dial of a target failed. */
  readonly #failed = new Map<string, string>();
  readonly #running = new Set<Promise<void>>();
  readonly #life = new AbortController();
  #timer: Disposable | null = null;

  constructor(options: DialerOptions) {
    this.#options = options;
  }

  /**
   * Take a target, or its new addresses.
   *
   * @param name Its instance or `host:port`.
   */
  add(
    name: string,
    kind: "sighting" | "static",
    addresses: readonly LinkAddress[],
  ): void {
    const before = this.#targets.get(name);
    if (before === undefined && this.#targets.size >= MOST_TARGETS) return;
    this.#targets.set(name, {
      name,
      kind,
      addresses,
      retry: before?.retry,
      running: before?.running ?? false,
    });
    this.#pump();
  }

  /** Forget a target; a dial that runs ends by itself. */
  drop(name: string): void {
    this.#targets.delete(name);
    this.#failed.delete(name);
  }

  /** Those whose last dial failed: seen or named, and no members yet. */
  failed(): readonly FailedDial[] {
    return [...this.#failed].flatMap(([name, problem]) => {
      const target = this.#targets.get(name);
      if (target === undefined) return [];
      const { addresses, kind } = target;
      return [{ name, kind, addresses, problem }];
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    this.#life.abort(new DOMException("The node is stopping", "AbortError"));
    await Promise.all(this.#running);
  }

  #pump(): void {
    if (this.#life.signal.aborted) return;
    this.#timer?.[Symbol.dispose]();
    this.#timer = null;
    const { clock } = this.#options;
    const { nextInMs, now } = planDials(
      [...this.#targets.values()],
      this.#dialledMs,
      clock.monotonic(),
    );
    for (const target of now) {
      this.#targets.set(target.name, { ...target, running: true });
      const done = this.#dial(target).finally(() => {
        this.#running.delete(done);
        this.#pump();
      });
      this.#running.add(done);
    }
    if (nextInMs !== null) {
      this.#timer = clock.after(nextInMs, () => this.#pump());
    }
  }

  async #dial(target: DialTarget): Promise<void> {
    const { clock, entropy, log } = this.#options;
    for (const address of target.addresses) this.#noteDial(address);
    using deadline = clock.deadline(DIAL_LIMIT_MS, this.#life.signal);
    const problem = await this.#meet(target, deadline.signal).catch((error) => {
      if (!this.#life.signal.aborted) {
        log.debug("A dial led nowhere", {
          target: target.name,
          error: error instanceof Error ? error.message : String(error),
        });
      }
      return error instanceof LinkError ? "unreachable" as const : "timeout";
    });
    const now = this.#targets.get(target.name);
    if (now === undefined) return;
    if (problem === "self") this.#failed.delete(target.name);
    else this.#failed.set(target.name, problem);
    const nowMs = clock.monotonic();
    const text = describeTarget(target);
    const retry = scheduleAdmission(
      target.retry,
      text,
      problem,
      nowMs,
      entropy.float(),
    );
    // Who is there and could not be reached may be only just starting.
    const hasty = problem === "unreachable" &&
      (target.kind === "static" || retry.failures <= MOST_HASTY);
    this.#targets.set(target.name, {
      ...now,
      running: false,
      retry: hasty ? { ...retry, notBeforeMs: nowMs + HASTY_PAUSE_MS } : retry,
    });
  }

  async #meet(
    target: DialTarget,
    signal: AbortSignal,
  ): Promise<Parameters<typeof scheduleAdmission>[2]> {
    const { admit, clock, dial, isMember, log, onMember, onOwnKey, own } =
      this.#options;
    const met = await dial(target.addresses, signal);
    using channel = met.channel;
    const { keyHash } = channel;
    const sighted = target.kind === "sighting" ? target.addresses : [];
    if (keyHash === own) {
      await onOwnKey(met, signal);
      return "self";
    }
    if (!isMember(keyHash) && own > keyHash) {
      // Both may have dialled at once: one of the two begins. If it can not
      // reach this node, its turn passes.
      await clock.sleep(YIELD_MS, signal);
    }
    if (isMember(keyHash)) {
      onMember(keyHash, met.address, sighted);
      return "self";
    }
    const outcome = await admit(met, signal);
    const fields = { address: formatAddress(met.address), keyHash };
    switch (outcome.kind) {
      case "admitted":
        onMember(keyHash, met.address, sighted);
        return "self";
      case "refused":
        log.warn("This node was refused by a cluster of the same secret", {
          ...fields,
          reason: outcome.reason,
        });
        return "refused";
      case "failed":
        log.info(
          outcome.problem === "no_match"
            ? "Admission was refused by a node nearby: it has another secret"
            : "A node nearby could not be asked for admission",
          { ...fields, problem: outcome.problem },
        );
        return outcome.problem;
      default:
        return outcome satisfies never;
    }
  }

  #noteDial(address: LinkAddress): void {
    const key = formatAddress(address);
    this.#dialledMs.delete(key);
    this.#dialledMs.set(key, this.#options.clock.monotonic());
    for (const oldest of this.#dialledMs.keys()) {
      if (this.#dialledMs.size <= MOST_ADDRESSES) break;
      this.#dialledMs.delete(oldest);
    }
  }
}
