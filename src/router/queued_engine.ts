import {
  type Attempt,
  type Availability,
  type Engine,
  type EngineAnswer,
  type EngineView,
  Fault,
  type Machine,
  type NodeId,
  type Offer,
  SourcedAnswer,
  type SpeedPrior,
  type StartResult,
} from "../domain/mod.ts";
import type { Clock } from "../platform/mod.ts";
import { AnswerMeter } from "./answer_meter.ts";
import { workOf } from "./answer_observation.ts";
import { choicesOf } from "./choices.ts";
import type { DeviceQueue } from "./device_queue.ts";
import type { DeviceQueues } from "./device_queues.ts";
import { clientOf, EngineExperience } from "./engine_experience.ts";
import { serviceMs } from "./estimate.ts";
import { HeldAttempt } from "./held_attempt.ts";
import type { ModelSlowdown } from "./learning_metrics.ts";
import { LiveList } from "./live_list.ts";
import { availabilityOn } from "./machine_standing.ts";
import { MeteredBody } from "./metered_body.ts";
import { QueuedOffers } from "./queued_offers.ts";
import { QueuedView } from "./queued_view.ts";
import { queueWait } from "./queue_wait.ts";
import { SelfMeasurement } from "./self_measurement.ts";
import { piecesOf } from "./whole_answer.ts";

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
  readonly #experience: EngineExperience;
  readonly #offers: QueuedOffers;
  readonly #held = new LiveList<HeldAttempt>();
  /** Only where trying costs nobody anything. */
  readonly #self: SelfMeasurement | null;

  /**
   * @param raw The engine itself.
   * @param options Clock, queues and limit.
   */
  constructor(raw: Engine, options: QueuedEngineOptions) {
    this.#raw = raw;
    this.#options = options;
    const { clock, queues, speed = null } = options;
    this.#experience = new EngineExperience({ clock, speed });
    this.#offers = new QueuedOffers(raw, queues, this.#experience);
    this.#self = raw.isMeasurable === true
      ? new SelfMeasurement({
        clock: options.clock,
        node: raw.node,
        isIdle: (model) => this.#isIdle(model),
        run: async (attempt, signal) => {
          await this.runOwn(attempt, signal);
        },
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

  get isMeasurable(): boolean {
    return this.#raw.isMeasurable === true;
  }

  /** What the engine itself says, whatever its node takes now. */
  get availability(): Availability {
    return this.#raw.view().availability;
  }

  /** Its models, with the queue as it is now. */
  get offers(): readonly Offer[] {
    return this.#offers.index(this.#raw.view()).all();
  }

  /** Attempts that wait or run here on behalf of an entry node. */
  heldFor(isEntry: (entry: NodeId) => boolean): number {
    let count = 0;
    for (const held of this.#held) if (isEntry(held.entry)) count++;
    return count;
  }

  /** How much slower each model that was used runs than it is known to. */
  slowdowns(): readonly ModelSlowdown[] {
    return this.#experience.slowdowns(this.id);
  }

  view(): EngineView {
    const view = this.#raw.view();
    const index = this.#offers.index(view);
    const tier = this.#options.machine?.tier?.() ?? null;
    const availability = this.#options.isDraining?.() === true
      ? { kind: "unavailable", reason: "This node is draining" } as const
      : availabilityOn(this.#options.machine, view.availability);
    return new QueuedView(availability, view.hop, index, tier);
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
    const offer = this.#offers.served(attempt.model);
    if (offer === undefined) {
      return refused("model_not_here", `does not offer "${attempt.model}"`);
    }
    const queue = this.#options.queues.of(offer.device);
    const { slots } = offer.queue;
    const full = !queue.isFree(slots) &&
      queue.countOf(this.#offers.key(offer), "waiting") >=
        this.#options.maxQueue;
    if (full) {
      const { waitMs } = queueWait(queue.report(slots), []);
      return refused(
        "queue_full",
        `${this.#options.maxQueue} requests wait for "${attempt.model}"`,
        Number.isFinite(waitMs) ? Math.ceil(waitMs) : null,
      );
    }
    this.#self?.[Symbol.dispose]();
    this.#experience.asked(offer.model);
    const held = this.#hold(attempt, signal, queue, offer);
    return await Promise.resolve({
      kind: "accepted",
      queue: queue.report(slots),
      answer: () => this.#answer(held, attempt),
      withdraw: () => Promise.resolve(held.withdraw(takenBack())),
    });
  }

  /**
   * Run a request of the node's own to the end of its answer. It loads nothing:
   * where the model has left memory before its turn, it is not run.
   *
   * @returns The answer's status, or null where it was not run.
   * @throws {Fault} When the engine breaks, or the signal's reason.
   */
  async runOwn(attempt: Attempt, signal: AbortSignal): Promise<number | null> {
    const offer = this.#offers.served(attempt.model);
    if (offer === undefined) return null;
    const queue = this.#offers.queueOf(offer);
    const held = this.#hold(attempt, signal, queue, offer);
    await held.slot;
    if (this.#offers.raw(attempt.model)?.state.kind !== "warm") {
      held.release(null);
      return null;
    }
    const { body, status } = await this.#answer(held, attempt);
    await body.pipeTo(new WritableStream());
    return status;
  }

  [Symbol.dispose](): void {
    this.#experience[Symbol.dispose]();
    this.#self?.[Symbol.dispose]();
    for (const held of [...this.#held]) {
      held.end(new Fault("shutting_down", "This node is shutting down"));
    }
  }

  #isIdle(model: string): boolean {
    const raw = this.#offers.raw(model);
    return raw?.state.kind === "warm" &&
      this.#offers.queueOf(raw).isFree(1) && this.#held.size === 0;
  }

  #hold(
    attempt: Attempt,
    signal: AbortSignal,
    queue: DeviceQueue,
    offer: Offer,
  ): HeldAttempt {
    const model = this.#offers.key(offer);
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
      width: choicesOf(attempt.request),
      expectedMs: serviceMs(
        workOf(attempt, offer),
        { ...offer, state: WARM },
        Math.min(queue.running + 1, Math.max(1, offer.queue.slots)),
      ),
      outlook: () => this.#offers.outlook(attempt.model),
    });
    return held;
  }

  /** Sequences of others that run beside an attempt. */
  #besides(held: HeldAttempt, offer: Offer): number {
    return Math.max(0, this.#offers.queueOf(offer).running - held.lanes);
  }

  async #answer(held: HeldAttempt, attempt: Attempt): Promise<EngineAnswer> {
    await held.slot;
    const { signal } = held;
    if (signal.aborted) throw signal.reason;
    held.engaged = true;
    try {
      const offer = this.#offers.served(attempt.model);
      if (offer === undefined) {
        throw new Fault("no_candidate", `"${attempt.model}" left its engine`);
      }
      const startedAtMs = this.#options.clock.monotonic();
      const concurrency = this.#besides(held, offer) + 1;
      const work = workOf(attempt, offer);
      held.expect(serviceMs(work, offer, concurrency));
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
    const raw = this.#offers.raw(attempt.model);
    if (raw !== undefined) {
      held.showBy(() =>
        this.#experience.leftMs(
          attempt,
          raw,
          meter,
          this.#besides(held, raw) + 1,
        )
      );
    }
    const sampling = this.#experience.sample(held, attempt, offer, meter);
    const source = new MeteredBody({
      source: piecesOf(answer),
      signal: held.signal,
      meter,
      nowMs: () => clock.monotonic(),
      over: (how) => {
        sampling[Symbol.dispose]();
        const isWork = attempt.request.upkeep?.only === undefined;
        if (isWork && meter.complete && answer.status < 300) {
          this.#experience.learn(attempt, offer, meter, {
            startedAtMs,
            concurrency: held.meanConcurrency,
            sampled: sampling.sampled,
            loadTimeMs: offer.state.kind === "warm" &&
                workOf(attempt, offer).reloads !== true
              ? null
              : this.#offers.loadTime(offer.model),
          });
        }
        held.release(null);
        // One that was broken off may hang: a measurement would hold its slot.
        if (how === "ended" && !this.#experience.knowsDecode(offer.model)) {
          this.#self?.consider(offer);
        }
      },
    });
    return new SourcedAnswer(answer, source);
  }
}

const WARM = { kind: "warm", loadTimeMs: null } as const;

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
