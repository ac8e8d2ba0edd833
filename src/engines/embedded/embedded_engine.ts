import {
  type Attempt,
  type Capability,
  type CardRoom,
  type Engine,
  type EngineAnswer,
  type EngineView,
  Fault,
  type LoadState,
  type LocalModel,
  type ModelFeature,
  neededMemory,
  type NodeId,
  type Offer,
  type QueueReport,
  type StartResult,
} from "../../domain/mod.ts";
import { dispatchHttp } from "../http_dispatch.ts";
import type { EmbeddedEngineOptions } from "./embedded_options.ts";
import { LoadedModels } from "./loaded_models.ts";
import { emptyAnswer, unloadAnswer } from "./upkeep_answer.ts";
import { priorLoadTimeMs, priorRates } from "./prior_rates.ts";

const DEVICE = "cpu";
/** A load that outlasts its forecast is always nearly done. */
const LEAST_REMAINING_MS = 100;
/** Who leaves after so long without an answer may have waited for a process that hangs. */
const SUSPICIOUS_MS = 15_000;
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
  /** Whether its models compute on cards of a maker, as far as is known. */
  computesOn(maker: "nvidia" | "amd" | "intel"): boolean;
  /** Memory of its cards, by what its processes said of them; null for nothing said. */
  saidCards(): CardRoom | null;
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
  readonly id: string;
  readonly isMeasurable = true;
  readonly canUnload = true;
  readonly #options: EmbeddedEngineOptions;
  readonly #loaded: LoadedModels;
  /** Cards are looked at after the start: until then none is known. */
  readonly #looked: Promise<void>;
  /** Attempts under way, with the time at which each is expected to be over. */
  readonly #running = new Map<Attempt, number>();
  #closed = false;

  constructor(options: EmbeddedEngineOptions) {
    this.#options = options;
    this.node = options.node;
    this.nodeName = options.nodeName;
    this.id = options.serverProgram === undefined ? "embedded" : "llama-server";
    this.#loaded = new LoadedModels(options);
    this.#looked = this.#loaded.cards.look().catch((error) =>
      options.log.warn("Failed to look for GPU libraries", {
        reason: error instanceof Error ? error.message : String(error),
      })
    );
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
    const { capability, upkeep } = attempt.request;
    if (upkeep?.only === "unload") {
      return {
        kind: "accepted",
        queue: this.#queue(),
        answer: async () =>
          unloadAnswer(await this.#loaded.unload(model, upkeep)),
      };
    }
    // Any model can be loaded, whatever it is for.
    if (upkeep?.only !== "load" && !model.capabilities.includes(capability)) {
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

  computesOn(maker: "nvidia" | "amd" | "intel"): boolean {
    return this.#loaded.cards.computesOn(maker);
  }

  saidCards(): CardRoom | null {
    return this.#loaded.saidCards();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await this.#looked;
    await this.#loaded[Symbol.asyncDispose]();
  }

  async #answer(
    model: LocalModel,
    attempt: Attempt,
    signal: AbortSignal,
  ): Promise<EngineAnswer> {
    try {
      const { upkeep = {} } = attempt.request;
      const lease = await this.#loaded.acquire(model, upkeep, signal);
      if (upkeep.only === "load") {
        lease[Symbol.dispose]();
        this.#running.delete(attempt);
        return emptyAnswer(attempt);
      }
      const { client, token } = lease.channel;
      const { clock } = this.#options;
      const askedMs = clock.monotonic();
      let isAnswered = false;
      const answer = await dispatchHttp(
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
          const silentMs = isAnswered ? 0 : clock.monotonic() - askedMs;
          if (isSuspicious(signal, silentMs)) this.#loaded.suspect(model);
        },
      );
      isAnswered = true;
      return answer;
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
    const { slots } = this.#options;
    const status = this.#loaded.status(model);
    const contextLength = this.#loaded.contextLength(model);
    const contextLimit = this.#loaded.contextLimit(model);
    const memory = this.#loaded.need(model);
    const isAbsent = status.state === "stopped" || status.state === "stopping";
    const cardBytes = this.#loaded.cardBytes(model);
    const misfit = isAbsent ? this.#loaded.misfit(model) : null;
    const process = this.#loaded.process(model);
    return {
      model: model.name,
      root: model.root,
      capabilities: model.capabilities,
      features: model.capabilities.includes("chat")
        ? [...model.features, ...this.#writingFeatures()]
        : model.features,
      contextLength,
      ...(contextLimit > contextLength ? { contextLimit } : {}),
      memory,
      ...(status.state === "ready"
        ? {
          residency: {
            memoryBytes: neededMemory(memory),
            ...cardBytes === null ? {} : { cardBytes },
            expiresInMs: status.expiresInMs,
            isPinned: this.#loaded.isPinned(model),
            isInUse: status.inUse,
          },
        }
        : {}),
      ...(misfit === null ? {} : { misfit }),
      ...(process === null ? {} : { process }),
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

  /** Going on with an answer is this program's own addition to llama-server's dialect; several answers are new in it. */
  #writingFeatures(): readonly ModelFeature[] {
    return this.#options.serverProgram === undefined
      ? ["logprobs", "n", "resume"]
      : ["logprobs"];
  }

  #loadState(model: LocalModel): LoadState {
    const status = this.#loaded.status(model);
    switch (status.state) {
      case "stopped":
      case "stopping":
        return { kind: "cold" };
      case "starting":
        return {
          kind: "loading",
          progress: status.progress,
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

/** Whether an attempt was given up for want of an answer. */
function isSuspicious(signal: AbortSignal, silentMs: number): boolean {
  if (!signal.aborted) return false;
  const { reason } = signal;
  return silentMs >= SUSPICIOUS_MS ||
    (reason instanceof Fault && reason.code === "engine_timeout");
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
