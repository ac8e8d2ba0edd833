import {
  type Attempt,
  type Engine,
  type EngineAnswer,
  type EngineView,
  Fault,
  type NodeId,
  type Offer,
  type QueueReport,
  type StartResult,
} from "../../domain/mod.ts";
import type { CommandEngineOptions } from "./command_options.ts";
import type { CommandModel } from "./command_settings.ts";

/**
 * Tokens a second until some were measured. A token is four bytes of text to
 * speak, or a hundredth of a second of sound to hear (`promptTokens` of both).
 */
const PRIOR_TOKENS_PER_SECOND = 300;
/** No bound of its own: what a request may bring is bounded at the edge. */
const CONTEXT_LENGTH = 16_777_216;

/**
 * An engine of programs that each do one request: speak a text, or write down
 * what they hear. Nothing is loaded before the first request.
 *
 * @param options Ports and settings.
 * @returns The engine. Disposing of it kills what runs.
 */
export function createCommandEngine(
  options: CommandEngineOptions,
): Engine & AsyncDisposable {
  return new CommandEngine(options);
}

interface Run {
  readonly model: string;
  readonly predictedEndMs: number;
  readonly over: Promise<unknown>;
}

class CommandEngine implements Engine, AsyncDisposable {
  readonly node: NodeId;
  readonly nodeName: string;
  readonly id: string;
  readonly #options: CommandEngineOptions;
  readonly #runs = new Set<Run>();
  readonly #closing = new AbortController();

  constructor(options: CommandEngineOptions) {
    this.#options = options;
    this.node = options.node;
    this.nodeName = options.nodeName;
    this.id = options.config.id;
  }

  view(): EngineView {
    return {
      availability: this.#closing.signal.aborted
        ? { kind: "unavailable", reason: "The node is shutting down" }
        : { kind: "available" },
      hop: { medianMs: 0, jitterMs: 0 },
      offers: this.#options.config.models.map((model) => this.#offer(model)),
      dispatchesSeen: Infinity,
    };
  }

  start(attempt: Attempt, signal: AbortSignal): Promise<StartResult> {
    const model = this.#options.config.models
      .find(({ id }) => id === attempt.model);
    if (this.#closing.signal.aborted) {
      return refuse("draining", "The node is shutting down", null);
    }
    if (model === undefined) {
      return refuse(
        "model_not_here",
        `The engine "${this.id}" has no model "${attempt.model}"`,
        null,
      );
    }
    if (model.capability !== attempt.request.capability) {
      throw new Fault(
        "wrong_capability",
        `The model "${attempt.model}" does not do ${attempt.request.capability}`,
      );
    }
    const queue = this.#queue(model);
    if (queue.runningMs.length >= model.slots) {
      return refuse("queue_full", `Every slot of "${model.id}" is busy`, 1_000);
    }
    const work = this.#work(model, attempt, signal);
    const run: Run = {
      model: model.id,
      predictedEndMs: this.#options.clock.monotonic() + attempt.predictedMs,
      over: work.then(
        () => this.#runs.delete(run),
        () => this.#runs.delete(run),
      ),
    };
    this.#runs.add(run);
    return Promise.resolve({
      kind: "accepted",
      queue: this.#queue(model),
      answer: () => work,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(
      new Fault("shutting_down", "This node is shutting down"),
    );
    await Promise.all([...this.#runs].map(({ over }) => over));
  }

  async #work(
    model: CommandModel,
    attempt: Attempt,
    signal: AbortSignal,
  ): Promise<EngineAnswer> {
    const either = AbortSignal.any([signal, this.#closing.signal]);
    const { speak, transcribe } = await import("./command_work.ts");
    const { body } = attempt.request;
    return model.capability === "speech"
      ? await speak(model, body, this.#options, either)
      : await transcribe(model, body, this.#options, either);
  }

  #offer(model: CommandModel): Offer {
    return {
      model: model.id,
      root: null,
      capabilities: [model.capability],
      features: [],
      contextLength: CONTEXT_LENGTH,
      sizeBytes: null,
      state: { kind: "warm", loadTimeMs: null },
      device: `${this.id}/${model.id}`,
      queue: this.#queue(model),
      rates: {
        prefillTokensPerSecond: PRIOR_TOKENS_PER_SECOND,
        tpotMs: [1],
        loadTimeMs: 0,
        observations: 0,
        typicalError: 1,
        expectedOutputTokens: 0,
      },
    };
  }

  #queue({ id, slots }: CommandModel): QueueReport {
    const nowMs = this.#options.clock.monotonic();
    return {
      slots,
      runningMs: [...this.#runs]
        .filter(({ model }) => model === id)
        .map(({ predictedEndMs }) => Math.max(0, predictedEndMs - nowMs)),
      waitingMs: [],
    };
  }
}

function refuse(
  reason: "draining" | "model_not_here" | "queue_full",
  message: string,
  retryAfterMs: number | null,
): Promise<StartResult> {
  return Promise.resolve({ kind: "refused", reason, message, retryAfterMs });
}
