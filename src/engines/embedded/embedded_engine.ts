import {
  type Attempt,
  type Capability,
  type Engine,
  type EngineAnswer,
  type EngineView,
  Fault,
  type LoadState,
  type LocalModel,
  type NodeId,
  type Offer,
  type QueueReport,
  type StartResult,
} from "../../domain/mod.ts";
import { dispatchHttp } from "../http_dispatch.ts";
import type { EmbeddedEngineOptions } from "./embedded_options.ts";
import { contextOf, LoadedModels } from "./loaded_models.ts";
import { priorLoadTimeMs, priorRates } from "./prior_rates.ts";

const DEVICE = "cpu";
/** A load that outlasts its forecast is always nearly done. */
const LEAST_REMAINING_MS = 100;
/** When to ask again for a model that is greater than this machine's memory. */
const MISFIT_RETRY_MS = 600_000;
/** Below this part of a load its pace says nothing. */
const TELLING_PROGRESS = 0.05;

const SERVED: ReadonlySet<Capability> = new Set([
  "chat",
  "completion",
  "embedding",
  "rerank",
]);

/** An engine of this machine that knows whose files it holds. */
export interface EmbeddedEngine extends Engine, AsyncDisposable {
  /** Whether it computes with a model just now. */
  isUsing(model: string): boolean;
}

/**
 * llama.cpp in child processes of this very program, one for each model that is
 * asked for, started on demand and stopped when idle.
 *
 * @param options Ports and settings.
 * @returns The engine. Disposing of it stops its processes.
 */
export function createEmbeddedEngine(
  options: EmbeddedEngineOptions,
): EmbeddedEngine {
  return new ChildEngine(options);
}

class ChildEngine implements EmbeddedEngine {
  readonly node: NodeId;
  readonly nodeName: string;
  readonly id = "embedded";
  readonly isMeasurable = true;
  readonly #options: EmbeddedEngineOptions;
  readonly #loaded: LoadedModels;
  /** Attempts under way, with the time at which each is expected to be over. */
  readonly #running = new Map<Attempt, number>();
  #closed = false;

  constructor(options: EmbeddedEngineOptions) {
    this.#options = options;
    this.node = options.node;
    this.nodeName = options.nodeName;
    this.#loaded = new LoadedModels(options);
  }

  view(): EngineView {
    const queue = this.#queue();
    return {
      availability: this.#closed
        ? { kind: "unavailable", reason: "The node is shutting down" }
        : { kind: "available" },
      hop: { medianMs: 0, jitterMs: 0 },
      offers: this.#options.models.list().filter(isServed).map((model) =>
        this.#offer(model, queue)
      ),
      dispatchesSeen: Infinity,
    };
  }

  // deno-lint-ignore require-await
  async start(attempt: Attempt, signal: AbortSignal): Promise<StartResult> {
    if (this.#closed) return refuse("draining", "The node is shutting down");
    const model = this.#options.models.list().find(({ name }) =>
      name === attempt.model
    );
    if (model === undefined || !isServed(model)) {
      return refuse(
        "model_not_here",
        `The model "${attempt.model}" is not in the models folder`,
      );
    }
    const { capability } = attempt.request;
    if (!model.capabilities.includes(capability)) {
      throw new Fault(
        "wrong_capability",
        `The model "${attempt.model}" does not do ${capability}`,
      );
    }
    signal.throwIfAborted();
    const nowMs = this.#options.clock.monotonic();
    this.#running.set(attempt, nowMs + attempt.predictedMs);
    signal.addEventListener("abort", () => this.#running.delete(attempt), {
      once: true,
    });
    return {
      kind: "accepted",
      queue: this.#queue(),
      answer: () => this.#answer(model, attempt, signal),
    };
  }

  isUsing(model: string): boolean {
    return [...this.#running.keys()].some((attempt) => attempt.model === model);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await this.#loaded[Symbol.asyncDispose]();
  }

  async #answer(
    model: LocalModel,
    attempt: Attempt,
    signal: AbortSignal,
  ): Promise<EngineAnswer> {
    try {
      const lease = await this.#loaded.supervisorOf(model).ensureReady(signal);
      const { client, token } = lease.channel;
      return await dispatchHttp(
        {
          client,
          headers: { authorization: `Bearer ${token}` },
          died: lease.died,
        },
        attempt,
        signal,
        () => {
          lease[Symbol.dispose]();
          this.#running.delete(attempt);
        },
      );
    } catch (error) {
      this.#running.delete(attempt);
      throw error;
    }
  }

  #queue(): QueueReport {
    const nowMs = this.#options.clock.monotonic();
    return {
      slots: this.#options.slots,
      runningMs: [...this.#running.values()].map((endMs) =>
        Math.max(endMs - nowMs, 0)
      ),
      waitingMs: [],
    };
  }

  #offer(model: LocalModel, queue: QueueReport): Offer {
    const { contextLength, slots } = this.#options;
    const status = this.#loaded.status(model);
    return {
      model: model.name,
      root: model.root,
      capabilities: model.capabilities,
      features: model.capabilities.includes("chat")
        ? [...model.features, "logprobs", "resume"]
        : model.features,
      contextLength: status.state === "ready"
        ? status.contextLength
        : contextOf(model, contextLength),
      sizeBytes: model.sizeBytes,
      state: this.#loadState(model),
      device: DEVICE,
      queue,
      rates: priorRates(model.sizeBytes, slots),
      ...(status.state === "stopped"
        ? { evicts: this.#loaded.evictions(model) }
        : {}),
    };
  }

  /** A model whose weights alone are more than all memory is not tried. */
  #misfit(model: LocalModel): LoadState | null {
    const totalBytes = this.#options.totalMemoryBytes?.() ?? null;
    if (totalBytes === null || model.sizeBytes <= totalBytes) return null;
    const gigabytes = (bytes: number) => (bytes / 1e9).toFixed(1);
    return {
      kind: "failed",
      reason: `it has ${
        gigabytes(model.sizeBytes)
      } GB of weights, and this node may use ${
        gigabytes(totalBytes)
      } GB of memory`,
      retryInMs: MISFIT_RETRY_MS,
    };
  }

  #loadState(model: LocalModel): LoadState {
    const status = this.#loaded.status(model);
    switch (status.state) {
      case "stopped":
      case "stopping":
        return this.#misfit(model) ?? { kind: "cold" };
      case "starting":
        return {
          kind: "loading",
          remainingMs: Math.max(
            status.progress > TELLING_PROGRESS
              ? status.elapsedMs / status.progress - status.elapsedMs
              : priorLoadTimeMs(model.sizeBytes) - status.elapsedMs,
            LEAST_REMAINING_MS,
          ),
        };
      case "ready":
        return { kind: "warm", loadTimeMs: status.loadTimeMs };
      case "failed": {
        const { reason, retryInMs } = status;
        return { kind: "failed", reason, retryInMs };
      }
      default: {
        const never: never = status;
        return never;
      }
    }
  }
}

function isServed(model: LocalModel): boolean {
  return model.capabilities.some((capability) => SERVED.has(capability));
}

function refuse(
  reason: "draining" | "model_not_here",
  message: string,
): StartResult {
  return { kind: "refused", reason, message, retryAfterMs: null };
}
