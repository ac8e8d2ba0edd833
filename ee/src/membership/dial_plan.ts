import { formatAddress, type LinkAddress } from "../link/link_address.ts";
import {
  isAdmissionDue,
  type RetryState,
} from "../admission/retry_schedule.ts";

/** Most dials at once. */
export const MOST_DIALS = 4;
/** An address is dialled once in this time. */
const ADDRESS_PAUSE_MS = 5000;
/** How soon a peer is tried again that could not be reached: a static one always, a sighting at first. */
export const HASTY_PAUSE_MS = 5000;

/** Somebody who may be a node of this cluster. */
export interface DialTarget {
  /** Names the target: an mDNS instance, or a static peer. */
  readonly name: string;
  readonly kind: "sighting" | "static";
  readonly addresses: readonly LinkAddress[];
  readonly retry: RetryState | undefined;
  readonly running: boolean;
}

/** What to dial now, and when to look again. */
export interface DialPlan {
  readonly now: readonly DialTarget[];
  /** Milliseconds until another target is due, or null when none waits. */
  readonly nextInMs: number | null;
}

/**
 * The target as text: when this changes, it is another sighting and is tried
 * at once.
 */
export function describeTarget({ addresses }: DialTarget): string {
  return addresses.map(formatAddress).sort().join(" ");
}

/**
 * Choose what to dial: static peers first, at most 4 at once, no address twice
 * in 5 s.
 *
 * @param targets All that are known.
 * @param dialledMs When each address (as text) was last dialled.
 * @param nowMs Monotonic time.
 */
export function planDials(
  targets: readonly DialTarget[],
  dialledMs: ReadonlyMap<string, number>,
  nowMs: number,
): DialPlan {
  let free = MOST_DIALS - targets.filter(({ running }) => running).length;
  const now: DialTarget[] = [];
  const waits: number[] = [];
  const order = targets.filter(({ running }) => !running).toSorted((a, b) =>
    Number(b.kind === "static") - Number(a.kind === "static")
  );
  for (const target of order) {
    const text = describeTarget(target);
    const retryMs = isAdmissionDue(target.retry, text, nowMs)
      ? nowMs
      : target.retry?.notBeforeMs ?? nowMs;
    const pauseMs = Math.max(
      0,
      ...target.addresses.map((address) =>
        (dialledMs.get(formatAddress(address)) ?? -Infinity) + ADDRESS_PAUSE_MS
      ),
    );
    const dueMs = Math.max(retryMs, pauseMs);
    if (dueMs > nowMs) waits.push(dueMs - nowMs);
    else if (free > 0) {
      free--;
      now.push(target);
    }
    // Without a free place it waits for one, not for a time.
  }
  return { now, nextInMs: waits.length === 0 ? null : Math.min(...waits) };
}
