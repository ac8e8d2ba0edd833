import {
  type Attempt,
  attemptIdOf,
  type Capability,
  Fault,
  type NodeId,
  type Offer,
  parseDecisionId,
} from "../domain/mod.ts";
import type { Clock } from "../platform/mod.ts";

/** What a measurement needs of the queue in front of its engine. */
export interface SelfMeasurementOptions {
  readonly clock: Clock;
  readonly node: NodeId;
  /** Whether a model is warm and its device idle. */
  isIdle(model: string): boolean;
  /** Run an attempt as any other, to the end of its answer. */
  run(attempt: Attempt, signal: AbortSignal): Promise<void>;
}

/** After a load the device may be asked for more at once: that goes first. */
const QUIET_MS = 1000;
const LIMIT_MS = 30_000;
const TOKENS = 32;
const PROMPT = "Count from one to one hundred, in words.";

/**
 * Runs a short request of the node's own on a model that was loaded and is idle
 * and whose speed nobody has seen, so that no user's request must find it out.
 * Any other request ends it.
 */
export class SelfMeasurement implements Disposable {
  readonly #options: SelfMeasurementOptions;
  readonly #measured = new Set<string>();
  #timer: Disposable | null = null;
  #running: AbortController | null = null;

  /** @param options What it needs. */
  constructor(options: SelfMeasurementOptions) {
    this.#options = options;
  }

  /** Measure a model soon, once. */
  consider(offer: Offer): void {
    const capability = offer.capabilities.find((one) =>
      one === "chat" || one === "completion"
    );
    if (capability === undefined || this.#measured.has(offer.model)) return;
    this.#timer?.[Symbol.dispose]();
    this.#timer = this.#options.clock.after(QUIET_MS, () => {
      this.#timer = null;
      if (this.#options.isIdle(offer.model)) {
        this.#measure(offer.model, capability);
      }
    });
  }

  /** A real request came. */
  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = null;
    this.#running?.abort(new Fault("queue_full", "A request came in between"));
    this.#running = null;
  }

  #measure(model: string, capability: Capability): void {
    this.#measured.add(model);
    const running = new AbortController();
    this.#running = running;
    const deadline = this.#options.clock.deadline(LIMIT_MS, running.signal);
    this.#options.run(this.#attempt(model, capability), deadline.signal)
      .then(
        undefined,
        // Nobody waits for it. Interrupted, it may be made up for later; an
        // engine that fails will fail a request, which says so.
        () => void this.#measured.delete(model),
      )
      .finally(() => {
        deadline[Symbol.dispose]();
        if (this.#running === running) this.#running = null;
      });
  }

  #attempt(model: string, capability: Capability): Attempt {
    const decision = parseDecisionId("self-measurement");
    if (decision === undefined) throw new Fault("internal", "A bad id");
    return {
      id: attemptIdOf(decision, 1),
      entry: this.#options.node,
      dispatch: 1,
      model,
      expectedOutputTokens: TOKENS,
      predictedMs: LIMIT_MS,
      request: {
        capability,
        model,
        source: { kind: "local" },
        stream: true,
        includeUsage: false,
        body: {
          ...(capability === "chat"
            ? { messages: [{ role: "user", content: PROMPT }] }
            : { prompt: PROMPT }),
          max_tokens: TOKENS,
          temperature: 0,
          stream: true,
        },
        promptTokens: 12,
        maxOutputTokens: TOKENS,
        inputCount: 1,
        needs: [],
        conversation: null,
        client: "self-measurement",
      },
    };
  }
}
