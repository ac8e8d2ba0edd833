import type { Capability } from "./capability.ts";
import type { Availability, Offer } from "./engine.ts";

const FIRST_PAUSE_MS = 5000;
const LONGEST_PAUSE_MS = 60_000;
const SHORTEST_LIMIT_MS = 5000;
const LONGEST_LIMIT_MS = 15_000;
const ALLOWANCE = 3;

/** How a node that was away proved that its engines work. */
export type TestMeans = "token" | "probe";

/** What came of a test task. */
export interface TestReport {
  /** Whether work may be sent here. */
  readonly passed: boolean;
  /** By one token of a warm model, or by what engines know of themselves. */
  readonly by: TestMeans;
  /** Why it did not pass, for people; null where it did. */
  readonly reason: string | null;
}

/** An engine as far as a test looks at it. */
export interface TestableEngine {
  /** Its name on the node. */
  readonly id: string;
  /** Whether it serves this node's own clients alone. */
  readonly isPrivate: boolean;
  /** Whether the node may run a request of its own on it. */
  readonly isMeasurable: boolean;
  /** What the engine itself says: its process, or the server behind it. */
  readonly availability: Availability;
  /** Its models, their queue as it is now. */
  readonly offers: readonly Offer[];
}

/** What a test is to be. */
export type TestChoice =
  | {
    readonly kind: "token";
    /** The engine's name on the node. */
    readonly engine: string;
    /** A warm model with a free slot. */
    readonly offer: Offer;
    /** What to ask of it. */
    readonly capability: Capability;
  }
  /** What the engines say of themselves; see `probeEngines`. */
  | { readonly kind: "probe" };

/**
 * Choose how a node proves that it can work (design.md 6): one token of a
 * model that is warm and whose device has a slot free, else what its engines
 * say of themselves. Nothing is loaded for it, nothing paid is asked, and no
 * server that others use too: such a request could have it load a model anew.
 *
 * @param engines The node's engines.
 * @param mayRun Whether the node takes work of peers at all now.
 */
export function chooseTest(
  engines: readonly TestableEngine[],
  mayRun: boolean,
): TestChoice {
  if (!mayRun) return { kind: "probe" };
  for (const { availability, id, isMeasurable, offers } of lentOf(engines)) {
    if (!isMeasurable || availability.kind === "unavailable") continue;
    for (const offer of offers) {
      const capability = offer.capabilities.find(isTestable);
      if (capability === undefined || isPaid(offer) || !isReady(offer)) {
        continue;
      }
      return { kind: "token", engine: id, offer, capability };
    }
  }
  return { kind: "probe" };
}

/**
 * Judge a node by what its engines say of themselves: one of them must be
 * there, unless it lends none or only such as are paid for, whose providers'
 * absence is not its own.
 *
 * @param engines The node's engines.
 */
export function probeEngines(engines: readonly TestableEngine[]): TestReport {
  const lent = lentOf(engines);
  const reasons = lent.flatMap(({ availability, id }) =>
    availability.kind === "unavailable" ? [`${id}: ${availability.reason}`] : []
  );
  const passed = lent.length === 0 || reasons.length < lent.length;
  return { passed, by: "probe", reason: passed ? null : reasons.join("; ") };
}

/**
 * Longest time that a test may take.
 *
 * @param predictedMs What the model is predicted to take over it.
 * @returns Milliseconds.
 */
export function testLimitMs(predictedMs: number): number {
  return Math.min(
    Math.max(SHORTEST_LIMIT_MS, ALLOWANCE * predictedMs),
    LONGEST_LIMIT_MS,
  );
}

/**
 * Pause after a failed test.
 *
 * @param lastMs The pause before that test, 0 for the first.
 * @returns Milliseconds: 5, 10, 20, 40, 60 s.
 */
export function testPauseMs(lastMs: number): number {
  return Math.min(Math.max(FIRST_PAUSE_MS, lastMs * 2), LONGEST_PAUSE_MS);
}

function lentOf(
  engines: readonly TestableEngine[],
): readonly TestableEngine[] {
  return engines.filter(({ isPrivate, offers }) =>
    !isPrivate && !(offers.length > 0 && offers.every(isPaid))
  );
}

function isTestable(capability: Capability): boolean {
  return capability === "chat" || capability === "completion" ||
    capability === "embedding";
}

function isPaid(offer: Offer): boolean {
  return offer.isPaid === true;
}

function isReady({ queue, state }: Offer): boolean {
  return state.kind === "warm" && queue.waitingMs.length === 0 &&
    queue.runningMs.length < queue.slots;
}
