import {
  type Attempt,
  BroughtOffers,
  type Engine,
  type EngineAnswer,
  type EngineView,
  type Eviction,
  Fault,
  type Machine,
  type NodeId,
  type Offer,
  type QueueReport,
  type Rates,
  type SpeedPrior,
  type StartResult,
} from "../domain/mod.ts";
import type { Clock } from "../platform/mod.ts";
import { ArrivalRates } from "./arrival_rates.ts";
import { AnswerMeter } from "./answer_meter.ts";
import { observationOf, workOf } from "./answer_observation.ts";
import type { DeviceQueue } from "./device_queue.ts";
import type { DeviceQueues } from "./device_queues.ts";
import { decodes, serviceMs, tpotAt } from "./estimate.ts";
import type { ModelSlowdown } from "./learning_metrics.ts";
import { LengthBook } from "./length_book.ts";
import { decodeLength } from "./length_shape.ts";
import { RunningSamples } from "./running_samples.ts";
import { SelfMeasurement } from "./self_measurement.ts";
import type { LoadOutlook } from "./load_outlook.ts";
import { HeldAttempt } from "./held_attempt.ts";
import { learnFrom, ratesAt } from "./machine_speed.ts";
import { availabilityOn } from "./machine_standing.ts";
import { meterBody } from "./metered_body.ts";
import { ModelRates } from "./model_rates.ts";
import { queueWait } from "./queue_wait.ts";

/** What a queued engine is made of. */
export interface QueuedEngineOptions {
  readonly clock: Clock;
  readonly queues: DeviceQueues;
  /** Attempts that may wait per model. */
  readonly maxQueue: number;
  /** Whether this node takes no more work. */
  readonly isDraining?: () => boolean;
  /** The machine it is on. */
  readonly machine?: Machine;
  /** What that machine's state does to its speed; null where it computes elsewhere. */
  readonly speed?: SpeedPrior | null;
}

/**
 * A queue in front of a local engine: bounds and orders what waits for the
 * engine's devices, never hands it more than it has slots, and learns from the
 * answers that pass how fast it is. Itself an engine; its view is live.
 */
export class QueuedEngine implements Engine, Disposable {
  readonly #raw: Engine;
  readonly #options: QueuedEngineOptions;
  readonly #rates = new Map<string, ModelRates>();
  readonly #held = new Set<HeldAttempt>();
  readonly #lengths = new LengthBook();
  readonly #arrivals = new ArrivalRates();
  readonly #samples: RunningSamples;
  /** Only where trying costs nobody anything. */
  readonly #self: SelfMeasurement | null;

  /**
   * @param raw The engine itself.
   * @param options Clock, queues and limit.
   */
  constructor(raw: Engine, options: QueuedEngineOptions) {
    this.#raw = raw;
    this.#options = options;
    this.#samples = new RunningSamples(options.clock);
    this.#self = raw.isMeasurable === true
      ? new SelfMeasurement({
        clock: options.clock,
        node: raw.node,
        isIdle: (model) => this.#isIdle(model),
        run: (attempt, signal) => this.#measure(attempt, signal),
      })
      : null;
  }

  get node(): NodeId {
    return this.#raw.node;
  }

  get nodeName(): string {
    return this.#raw.nodeName;
  }

  get id(): string {
    return this.#raw.id;
  }

  get isPrivate(): boolean {
    return this.#raw.isPrivate === true;
  }

  /** Attempts that wait or run here on behalf of an entry node. */
  heldFor(isEntry: (entry: NodeId) => boolean): number {
    let count = 0;
    for (const held of this.#held) if (isEntry(held.entry)) count++;
    return count;
  }

  /** How much slower each model that was used runs than it is known to. */
  slowdowns(): readonly ModelSlowdown[] {
    const nowMs = this.#options.clock.monotonic();
    return [...this.#rates].map(([model, rates]) => ({
      engine: this.id,
      model,
      ratio: rates.slowdown(nowMs),
    }));
  }

  view(): EngineView {
    const view = this.#raw.view();
    const reports = new Map<string, QueueReport>();
    const index = new BroughtOffers(
      view.offers,
      (offer) => this.#dressed(offer, reports),
      view.index,
    );
    const tier = this.#options.machine?.tier?.() ?? null;
    const availability = this.#options.isDraining?.() === true
      ? { kind: "unavailable", reason: "This node is draining" } as const
      : availabilityOn(this.#options.machine, view.availability);
    return {
      availability,
      hop: view.hop,
      get offers() {
        return index.all();
      },
      index,
      dispatchesSeen: Infinity,
      ...(tier === null ? {} : { tier }),
    };
  }

  /**
   * Take an attempt into the queue. It holds its place until its answer is over
   * or its signal aborts, so whoever gets `accepted` must do one of both.
   */
  async start(attempt: Attempt, signal: AbortSignal): Promise<StartResult> {
    // To let go of a model takes no turn.
    if (attempt.request.upkeep?.only === "unload") {
      return this.#raw.canUnload === true
        ? await this.#raw.start(attempt, signal)
        : refused("model_not_here", "unloads nothing when asked");
    }
    const offer = this.#offer(attempt.model);
    if (offer === undefined) {
      return refused("model_not_here", `does not offer "${attempt.model}"`);
    }
    const queue = this.#options.queues.of(offer.device);
    const { slots } = offer.queue;
    const full = !queue.isFree(slots) &&
      queue.countOf(this.#key(offer), "waiting") >= this.#options.maxQueue;
    if (full) {
      const { waitMs } = queueWait(queue.report(slots), []);
      return refused(
        "queue_full",
        `${this.#options.maxQueue} requests wait for "${attempt.model}"`,
        Number.isFinite(waitMs) ? Math.ceil(waitMs) : null,
      );
    }
    this.#self?.[Symbol.dispose]();
    this.#arrivals.observe(offer.model, this.#options.clock.monotonic());
    const held = this.#hold(attempt, signal, queue, offer);
    return await Promise.resolve({
      kind: "accepted",
      queue: queue.report(slots),
      answer: () => this.#answer(held, attempt),
      withdraw: () => Promise.resolve(held.withdraw(takenBack())),
    });
  }

  [Symbol.dispose](): void {
    this.#samples[Symbol.dispose]();
    this.#self?.[Symbol.dispose]();
    for (const held of this.#held) {
      held.end(new Fault("shutting_down", "This node is shutting down"));
    }
  }

  #isIdle(model: string): boolean {
    const raw = this.#rawOffer(model);
    return raw?.state.kind === "warm" &&
      this.#queueOf(raw).isFree(1) && this.#held.size === 0;
  }

  async #measure(attempt: Attempt, signal: AbortSignal): Promise<void> {
    const offer = this.#offer(attempt.model);
    if (offer === undefined) return;
    const held = this.#hold(attempt, signal, this.#queueOf(offer), offer);
    const { body } = await this.#answer(held, attempt);
    await body.pipeTo(new WritableStream());
  }

  #hold(
    attempt: Attempt,
    signal: AbortSignal,
    queue: DeviceQueue,
    offer: Offer,
  ): HeldAttempt {
    const model = this.#key(offer);
    const held = new HeldAttempt(
      attempt.entry,
      signal,
      (one) => this.#held.delete(one),
    );
    this.#held.add(held);
    held.enter(queue, {
      model,
      client: clientOf(attempt),
      slots: offer.queue.slots,
      expectedMs: serviceMs(
        workOf(attempt),
        { ...offer, state: WARM },
        Math.min(queue.running + 1, Math.max(1, offer.queue.slots)),
      ),
      outlook: () => this.#outlook(attempt.model),
    });
    return held;
  }

  async #answer(held: HeldAttempt, attempt: Attempt): Promise<EngineAnswer> {
    await held.slot;
    const { signal } = held;
    if (signal.aborted) throw signal.reason;
    held.engaged = true;
    try {
      const offer = this.#offer(attempt.model);
      if (offer === undefined) {
        throw new Fault("no_candidate", `"${attempt.model}" left its engine`);
      }
      const startedAtMs = this.#options.clock.monotonic();
      const concurrency = Math.max(1, this.#queueOf(offer).running);
      held.expect(serviceMs(workOf(attempt), offer, concurrency));
      const started = await this.#raw.start(attempt, signal);
      if (started.kind === "refused") throw refusalFault(started);
      const answer = await started.answer();
      return this.#metered(held, attempt, offer, answer, startedAtMs);
    } catch (thrown) {
      held.release(thrown);
      throw thrown;
    }
  }

  #metered(
    held: HeldAttempt,
    attempt: Attempt,
    offer: Offer,
    answer: EngineAnswer,
    startedAtMs: number,
  ): EngineAnswer {
    const { clock } = this.#options;
    const meter = new AnswerMeter(
      attempt.request.capability,
      answer.contentType,
    );
    const raw = this.#rawOffer(attempt.model);
    if (raw !== undefined) {
      held.leftMs = () => this.#leftMs(attempt, raw, meter);
    }
    let sampled = false;
    const sampling = this.#samples.add({
      meter,
      concurrencyMs: () => held.concurrencyMs,
      seen: ({ perEventMs, concurrency }) => {
        sampled = true;
        const factor = this.#options.speed?.factor() ?? 1;
        const rates = this.#ratesOf(offer.model);
        rates.observeRunning(
          {
            perEventMs: perEventMs * factor,
            concurrency,
            contextTokens: attempt.request.promptTokens +
              meter.tally.contentEvents * rates.tokensPerEvent,
          },
          clock.monotonic(),
        );
      },
    });
    const body = meterBody(answer.body, held.signal, {
      piece: (bytes) => meter.piece(bytes, clock.monotonic()),
      over: (how) => {
        sampling[Symbol.dispose]();
        if (how === "ended") meter.end(clock.monotonic());
        const isWork = attempt.request.upkeep?.only === undefined;
        if (isWork && meter.complete && answer.status < 300) {
          this.#learn(held, attempt, offer, meter, { startedAtMs, sampled });
        }
        held.release(null);
        if (!this.#ratesOf(offer.model).knowsDecode) {
          this.#self?.consider(offer);
        }
      },
    });
    return { ...answer, body };
  }

  #learn(
    held: HeldAttempt,
    attempt: Attempt,
    offer: Offer,
    meter: AnswerMeter,
    { startedAtMs, sampled }: {
      readonly startedAtMs: number;
      readonly sampled: boolean;
    },
  ): void {
    const nowMs = this.#options.clock.monotonic();
    learnFrom(
      this.#ratesOf(offer.model),
      observationOf(attempt, offer, meter, {
        startedAtMs,
        endedAtMs: nowMs,
        concurrency: held.meanConcurrency,
        sampled,
        loadTimeMs: offer.state.kind === "warm"
          ? null
          : this.#loadTime(offer.model),
      }),
      offer,
      this.#options.speed ?? null,
      nowMs,
    );
    const { tally } = meter;
    if (!decodes(attempt.request.capability) || !tally.hasContent) return;
    this.#lengths.observe(
      offer.model,
      tally.outputTokens,
      tally.cut,
      clientOf(attempt),
    );
  }

  /** What is left of an answer by its length so far; null before its first token. */
  #leftMs(attempt: Attempt, raw: Offer, meter: AnswerMeter): number | null {
    if (meter.content === null || !decodes(attempt.request.capability)) {
      return null;
    }
    const lengths = this.#lengths.find(raw.model, clientOf(attempt));
    if (lengths === undefined) return null;
    const soFar = meter.tally.contentEvents *
      this.#ratesOf(raw.model).tokensPerEvent;
    const tokens = lengths.remaining(
      soFar,
      attempt.request.maxOutputTokens,
      attempt.expectedOutputTokens,
    );
    const running = Math.max(1, this.#queueOf(raw).running);
    const length = decodeLength(attempt.request.promptTokens + soFar, tokens);
    return tokens * tpotAt(this.#ratesNow(raw), running, length);
  }

  /** What the load took that has just been waited for, if the engine says so. */
  #loadTime(model: string): number | null {
    const state = this.#raw.view().offers.find((offer) => offer.model === model)
      ?.state;
    return state?.kind === "warm" ? state.loadTimeMs : null;
  }

  #offer(model: string): Offer | undefined {
    const raw = this.#rawOffer(model);
    return raw === undefined ? undefined : this.#dressed(raw, new Map());
  }

  /** What a load of a model takes and pushes out, if it is not loaded. */
  #outlook(model: string): LoadOutlook | null {
    const raw = this.#rawOffer(model);
    if (raw === undefined) return null;
    return {
      isLoaded: raw.state.kind === "warm" || raw.state.kind === "loading",
      loadTimeMs: this.#ratesNow(raw).loadTimeMs,
      evicts: (raw.evicts ?? []).map((one) => `${this.#raw.id} ${one.model}`),
    };
  }

  #rawOffer(model: string): Offer | undefined {
    return this.#raw.view().offers.find((offer) => offer.model === model);
  }

  /** The engine's own offer with our queue and what was learned. */
  #dressed(offer: Offer, reports: Map<string, QueueReport>): Offer {
    const { slots } = offer.queue;
    const key = `${slots} ${offer.device}`;
    let queue = reports.get(key);
    if (queue === undefined) {
      queue = this.#options.queues.of(offer.device).report(slots);
      reports.set(key, queue);
    }
    const after = queue.waitingMs.length === 0
      ? undefined
      : this.#queueOf(offer).play().loadedAfter.get(this.#key(offer));
    const dressed: Offer = {
      ...offer,
      queue,
      rates: this.#ratesNow(offer),
      ...(after === undefined ? {} : { loadedAfterQueue: after }),
    };
    return offer.evicts === undefined || offer.evicts.length === 0
      ? dressed
      : { ...dressed, evicts: offer.evicts.map((one) => this.#counted(one)) };
  }

  /** How likely what would be evicted is asked for again before it would go anyway. */
  #counted(eviction: Eviction): Eviction {
    const { idleMs, keepMs = Infinity, model } = eviction;
    return {
      ...eviction,
      reuseChance: this.#arrivals.reuseChance(
        model,
        keepMs - idleMs,
        this.#options.clock.monotonic(),
      ),
    };
  }

  /** What was learned, over the engine's own word, at the machine's speed now. */
  #ratesNow(offer: Offer): Rates {
    const learned = this.#rates.get(offer.model);
    const rates = learned === undefined
      ? offer.rates
      : learned.over(offer.rates, this.#options.clock.monotonic());
    return ratesAt(rates, this.#options.speed?.factor() ?? 1);
  }

  #queueOf(offer: Offer): DeviceQueue {
    return this.#options.queues.of(offer.device);
  }

  #ratesOf(model: string): ModelRates {
    let rates = this.#rates.get(model);
    if (rates === undefined) {
      rates = new ModelRates();
      this.#rates.set(model, rates);
    }
    return rates;
  }

  #key(offer: Offer): string {
    return `${this.#raw.id} ${offer.model}`;
  }
}

const WARM = { kind: "warm", loadTimeMs: null } as const;

/** Two entry nodes may use the same tag for different people. */
function clientOf(attempt: Attempt): string {
  return `${attempt.entry} ${attempt.request.client}`;
}

function refused(
  reason: "model_not_here" | "queue_full",
  message: string,
  retryAfterMs: number | null = null,
): StartResult {
  return {
    kind: "refused",
    reason,
    message: `This engine ${message}`,
    retryAfterMs,
  };
}

function takenBack(): Fault {
  return new Fault("no_candidate", "The attempt was taken back by its entry");
}

/** An engine may still refuse what its queue let through: that is no failure either. */
function refusalFault(
  refusal: Extract<StartResult, { readonly kind: "refused" }>,
): Fault {
  const retry = refusal.retryAfterMs === null
    ? {}
    : { retryAfterMs: refusal.retryAfterMs };
  return new Fault(
    refusal.reason === "queue_full" ? "queue_full" : "no_candidate",
    refusal.message,
    retry,
  );
}
