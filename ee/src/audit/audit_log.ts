import type { JsonObject, Metrics } from "@covey/core/domain";
import type { Clock } from "@covey/core/platform";

/** Most events kept of each sort. */
const MOST_EVENTS = 256;
const MOST_REFUSALS = 128;

/** By what somebody came in or tried to. */
export type WayIn = "secret" | "token" | "code";

/** Something that an operator may ask about later. No secret, key, token or code is in it. */
export type AuditEvent =
  | { readonly event: "invited"; readonly way: WayIn; readonly lifeMs: number }
  | { readonly event: "code_voided" }
  | {
    readonly event: "admitted";
    readonly way: WayIn;
    readonly name: string;
    readonly id: string;
    readonly keyHash: string;
    readonly address: string;
  }
  | {
    readonly event: "refused";
    readonly way: WayIn;
    readonly reason: string;
    readonly keyHash: string;
    readonly address: string;
  }
  | { readonly event: "joined"; readonly way: WayIn; readonly by: string }
  | {
    readonly event: "removed";
    readonly name: string;
    readonly id: string;
    readonly expelled: boolean;
    /** `here`, or the member that said so. */
    readonly by: string;
  }
  | {
    readonly event: "drain";
    /** Whether it takes no more work, or takes it again. */
    readonly draining: boolean;
    readonly name: string;
    readonly id: string;
    /** `here`, or the member whose operator asked for it. */
    readonly by: string;
  }
  | {
    /** This node asked for a copy by itself, to spread a model's demand. */
    readonly event: "copy_asked";
    readonly model: string;
    /** Who was asked. */
    readonly name: string;
    readonly id: string;
    readonly reason: string;
  }
  | {
    readonly event: "door";
    readonly state: "open" | "closed";
    readonly by: string;
  };

/**
 * What happened at the cluster's door, as far as memory reaches. Refusals are
 * kept apart, since strangers make as many as they like.
 */
export class AuditLog {
  readonly #clock: Clock;
  readonly #events: JsonObject[] = [];
  readonly #refusals: JsonObject[] = [];
  readonly #counter: ReturnType<Metrics["counter"]>;
  #count = 0;

  constructor(clock: Clock, metrics: Metrics) {
    this.#clock = clock;
    this.#counter = metrics.counter(
      "covey_cluster_events_total",
      "Admissions, refusals, removals, drains and the like, by event and way in.",
      ["event", "way"],
    );
  }

  /** Keep an event. */
  note(event: AuditEvent): void {
    this.#counter.add(1, {
      event: event.event,
      way: "way" in event ? event.way : "none",
    });
    const isRefusal = event.event === "refused";
    const list = isRefusal ? this.#refusals : this.#events;
    list.push({
      seq: ++this.#count,
      at: new Date(this.#clock.now()).toISOString(),
      ...event,
    });
    if (list.length > (isRefusal ? MOST_REFUSALS : MOST_EVENTS)) list.shift();
  }

  /** Everything kept, oldest first. */
  list(): readonly JsonObject[] {
    return [...this.#events, ...this.#refusals].sort((a, b) =>
      Number(a.seq) - Number(b.seq)
    );
  }
}
