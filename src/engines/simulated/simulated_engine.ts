import {
  type Attempt,
  type Capability,
  type Engine,
  type EngineAnswer,
  type EngineView,
  Fault,
  type LoadState,
  type ModelFeature,
  type NodeId,
  type Offer,
  type QueueReport,
  type StartResult,
} from "../../domain/mod.ts";
import type { Clock, Entropy } from "../../platform/mod.ts";
import { LaneClock } from "./lane_clock.ts";
import {
  type AnswerLength,
  type AnswerText,
  answerTextFor,
  DEFAULT_OUTPUT_TOKENS,
  lengthOf,
  piecesAfter,
} from "./answer_text.ts";
import { errorAnswer } from "./simulated_dialect.ts";
import { PromptCache } from "./prompt_cache.ts";
import { simulateEmbeddings } from "./simulated_embedding.ts";
import { simulateRanking } from "./simulated_ranking.ts";
import { jsonAnswer, type RunPlan, SimulatedRun } from "./simulated_run.ts";
import { SimulatedRoom } from "./simulated_room.ts";
import { type AnswerWishes, parseWishes } from "./simulated_wishes.ts";
import type {
  SimulatedModel,
  SimulatedSettings,
} from "./simulated_settings.ts";

/** Prompts whose evaluated state a model keeps unless told otherwise. */
const CACHED_PROMPTS = 64;
const MOST_WAITING = 1_024;
/** Farthest a noisy service time strays, in standard deviations. */
const MOST_DEVIATIONS = 3;
const LEAST_FACTOR = 0.05;
const PROCESS_NAME_BYTES = 8;

/** What has no text: one sequence that takes its time. */
const NO_TEXT: Writing = {
  wishes: { choices: 1, topLogprobs: null },
  text: { kind: "words" },
};

/** What a simulated engine is built from. */
export interface SimulatedEngineOptions {
  readonly config: SimulatedSettings;
  readonly clock: Clock;
  /** Draws noise, faults and ids. */
  readonly entropy: Entropy;
  readonly node: NodeId;
  readonly nodeName: string;
}

/**
 * An engine that computes nothing and takes the time it is told to: load,
 * prefill, decode and slots as configured, answers of numbered words; where a
 * schema or a tool is given, the plainest JSON that it allows. For tests,
 * benchmarks and capacity planning.
 *
 * @param options Ports and settings. Each model has its own slots, as if it
 * had a device to itself.
 * @returns The engine. Disposing of it breaks off what runs.
 * @throws {TypeError} When a model has a capability that is not simulated.
 */
export function createSimulatedEngine(
  options: SimulatedEngineOptions,
): Engine & AsyncDisposable {
  return new SimulatedEngine(options);
}

/** What is to be written, token by token. */
interface Writing {
  readonly wishes: AnswerWishes;
  readonly text: AnswerText;
}

interface Lane {
  readonly model: SimulatedModel;
  readonly capabilities: readonly Capability[];
  readonly clock: LaneClock;
  readonly prompts: PromptCache;
}

class SimulatedEngine implements Engine, AsyncDisposable {
  readonly node: NodeId;
  readonly nodeName: string;
  readonly id: string;
  readonly #options: SimulatedEngineOptions;
  readonly #lanes = new Map<string, Lane>();
  readonly #runs = new Set<SimulatedRun>();
  readonly #closing = new AbortController();
  readonly #room: SimulatedRoom | null;
  /** The process is the node's own, which has another name after each start. */
  readonly #process: string;

  constructor(options: SimulatedEngineOptions) {
    this.#options = options;
    this.node = options.node;
    this.nodeName = options.nodeName;
    this.id = options.config.id;
    this.#process = options.entropy.bytes(PROCESS_NAME_BYTES).toHex();
    const { maxLoaded = null } = options.config;
    for (const model of options.config.models) {
      this.#lanes.set(model.id, {
        model,
        capabilities: capabilitiesOf(model),
        prompts: new PromptCache(model.cachedPrompts ?? CACHED_PROMPTS),
        clock: new LaneClock(options.clock, {
          loadMs: model.loadMs,
          slots: model.slots,
          tokenMs: 1_000 / model.decodeTokensPerSecond,
          batchSlowdown: model.batchSlowdown,
          loadsWhenTold: maxLoaded !== null && model.loadMs > 0,
        }),
      });
    }
    this.#room = maxLoaded === null ? null : new SimulatedRoom(
      maxLoaded,
      [...this.#lanes.values()]
        .filter(({ model }) => model.loadMs > 0)
        .map(({ clock, model }) => ({
          name: model.id,
          loadMs: model.loadMs,
          clock,
        })),
    );
  }

  view(): EngineView {
    return {
      availability: this.#closing.signal.aborted
        ? { kind: "unavailable", reason: "The node is shutting down" }
        : { kind: "available" },
      hop: { medianMs: 0, jitterMs: 0 },
      offers: [...this.#lanes.values()].map((lane) => this.#offer(lane)),
      dispatchesSeen: Infinity,
    };
  }

  async start(attempt: Attempt, signal: AbortSignal): Promise<StartResult> {
    const lane = this.#lanes.get(attempt.model);
    if (this.#closing.signal.aborted) {
      return refuse("draining", "The node is shutting down", null);
    }
    if (lane === undefined) {
      return refuse(
        "model_not_here",
        `The engine "${this.id}" has no model "${attempt.model}"`,
        null,
      );
    }
    if (!lane.capabilities.includes(attempt.request.capability)) {
      throw new Fault(
        "wrong_capability",
        `The model "${attempt.model}" does not do ${attempt.request.capability}`,
      );
    }
    if (lane.clock.lane.waiting >= MOST_WAITING) {
      return refuse("queue_full", "The simulated queue is full", 1_000);
    }
    const given = await this.#givenAnswer(lane, attempt);
    signal.throwIfAborted();
    const answer = given.kind === "now"
      ? () => this.#answerLater(given.answer, signal)
      : this.#enter(
        lane,
        attempt,
        given.kind === "planned" ? given.plan : given.writing,
        signal,
      );
    return { kind: "accepted", queue: this.#queue(lane), answer };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const fault = new Fault("shutting_down", "This node is shutting down");
    this.#closing.abort(fault);
    const runs = [...this.#runs];
    for (const run of runs) run.fail(fault);
    await Promise.all(runs.map((run) => run.over));
    for (const lane of this.#lanes.values()) lane.clock[Symbol.dispose]();
  }

  #offer(lane: Lane): Offer {
    const { model } = lane;
    const { lane: { loadedMs }, lane: simulated } = lane.clock;
    return {
      model: model.id,
      // Equal names of simulated models mean equal answers.
      root: `simulated:${model.id}`,
      capabilities: lane.capabilities,
      features: featuresOf(lane.capabilities),
      contextLength: model.contextLength,
      sizeBytes: null,
      state: this.#loadState(model, loadedMs),
      // Models that share the memory share the device.
      device: this.#room === null ? `${this.id}/${model.id}` : this.id,
      queue: this.#queue(lane),
      process: this.#process,
      rates: {
        prefillTokensPerSecond: model.prefillTokensPerSecond,
        tpotMs: Array.from(
          { length: model.slots },
          (_, at) => simulated.tokenMs(at + 1),
        ),
        loadTimeMs: model.loadMs,
        observations: 0,
        typicalError: model.noise,
        expectedOutputTokens: DEFAULT_OUTPUT_TOKENS,
      },
      cachedPrompts: model.cachedPrompts ?? CACHED_PROMPTS,
      ...(this.#room === null ? {} : {
        evicts: this.#room.evictions(
          model.id,
          this.#options.clock.monotonic(),
        ),
      }),
    };
  }

  #loadState(model: SimulatedModel, loadedMs: number | null): LoadState {
    if (loadedMs === null) return { kind: "cold" };
    const remainingMs = loadedMs - this.#options.clock.monotonic();
    return remainingMs > 0
      ? { kind: "loading", remainingMs }
      : { kind: "warm", loadTimeMs: model.loadMs };
  }

  #queue(lane: Lane): QueueReport {
    return {
      slots: lane.model.slots,
      runningMs: lane.clock.lane.runningMs(this.#options.clock.monotonic()),
      waitingMs: lane.clock.lane.waitingMs(),
    };
  }

  /** What needs no sequence of tokens (faults, refusals of the engine, vectors and scores), or what is to be written. */
  async #givenAnswer(
    lane: Lane,
    attempt: Attempt,
  ): Promise<
    | { readonly kind: "now"; readonly answer: EngineAnswer }
    | { readonly kind: "planned"; readonly plan: RunPlan }
    | { readonly kind: "written"; readonly writing: Writing }
  > {
    const { config, entropy } = this.#options;
    const { errorRate } = config.faults;
    const { body, capability, promptTokens } = attempt.request;
    if (errorRate > 0 && entropy.float() < errorRate) {
      const message = "The simulated engine failed as told";
      const json = errorAnswer(500, "server_error", message);
      return { kind: "now", answer: jsonAnswer(500, json) };
    }
    if (capability === "embedding") {
      const answer = await simulateEmbeddings(
        attempt.model,
        body,
        promptTokens,
      );
      return { kind: "planned", plan: { kind: "given", answer } };
    }
    if (capability === "rerank") {
      const answer = simulateRanking(attempt.model, body, promptTokens);
      return { kind: "planned", plan: { kind: "given", answer } };
    }
    if (promptTokens >= lane.model.contextLength) {
      const json = errorAnswer(
        400,
        "exceed_context_size_error",
        `The prompt has ${promptTokens} tokens, the context ${lane.model.contextLength}`,
      );
      return { kind: "now", answer: jsonAnswer(400, json) };
    }
    const wishes = parseWishes(body);
    if ("param" in wishes) {
      const { message, param } = wishes;
      const json = errorAnswer(400, "invalid_request_error", message, param);
      return { kind: "now", answer: jsonAnswer(400, json) };
    }
    const text = capability === "chat" ? answerTextFor(body) : NO_TEXT.text;
    if ("param" in text) {
      const { message, param } = text;
      const json = errorAnswer(400, "invalid_request_error", message, param);
      return { kind: "now", answer: jsonAnswer(400, json) };
    }
    return { kind: "written", writing: { wishes, text } };
  }

  async #answerLater(
    answer: EngineAnswer,
    signal: AbortSignal,
  ): Promise<EngineAnswer> {
    const { clock, config } = this.#options;
    const either = AbortSignal.any([signal, this.#closing.signal]);
    if (config.faults.stallMs > 0) {
      await clock.sleep(config.faults.stallMs, either);
    }
    return answer;
  }

  #enter(
    lane: Lane,
    attempt: Attempt,
    wanted: RunPlan | Writing,
    signal: AbortSignal,
  ): () => Promise<EngineAnswer> {
    const planned = "kind" in wanted ? wanted : null;
    const writing = "kind" in wanted ? NO_TEXT : wanted;
    const { text, wishes } = writing;
    const { faults } = this.#options.config;
    const { model } = lane;
    const { request } = attempt;
    const resumed = attempt.resume?.tokens ?? 0;
    const length = lengthOf(
      text,
      request.maxOutputTokens,
      model.contextLength - request.promptTokens,
    );
    const outputTokens = planned === null
      ? Math.max(0, length.tokens - resumed)
      : 0;
    const cached = planned === null ? lane.prompts.look(request) : 0;
    const factor = this.#drawFactor(model.noise);
    const prefillMs = (request.promptTokens - cached + resumed) /
      model.prefillTokensPerSecond * 1_000 * factor;
    const plan = planned ??
      this.#planGeneration(attempt, length.finishReason, cached, writing);
    const run = new SimulatedRun(plan, prefillMs, () => leave());
    let written = 0;
    const tickets: Disposable[] = [];
    const leave = () => {
      // Last first: a slot must not fall free for one that leaves as well.
      for (const ticket of tickets.toReversed()) ticket[Symbol.dispose]();
    };
    // Side by side where slots are free, else one behind the other.
    for (let index = 0; index < wishes.choices; index++) {
      tickets.push(lane.clock.add({
        prefillMs: faults.stallMs + prefillMs,
        outputTokens,
        factor,
        dieAfterTokens: faults.dieAfterTokens,
        on: (event) => {
          if (event.kind === "token" && index === 0) written = event.number;
          run.hear(event, index);
        },
      }));
    }
    const onAbort = () => {
      leave();
      run.fail(signal.reason);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    this.#runs.add(run);
    this.#room?.settle(this.#options.clock.monotonic());
    run.over.then(() => {
      this.#runs.delete(run);
      // Where one answer died the others have nobody to write for.
      leave();
      this.#room?.settle(this.#options.clock.monotonic());
      if (planned === null && written > 0) {
        // What a call leaves in the history is not its text.
        const kept = text.kind === "call" ? 0 : resumed + written;
        const pieces = piecesAfter(text, 0, kept, 0);
        lane.prompts.keep(request, pieces.join(""));
      }
      signal.removeEventListener("abort", onAbort);
    });
    return () => run.head;
  }

  #planGeneration(
    attempt: Attempt,
    finishReason: AnswerLength["finishReason"],
    cachedTokens: number,
    writing: Writing,
  ): RunPlan {
    const { clock, entropy } = this.#options;
    const { capability, promptTokens, stream } = attempt.request;
    const chat = capability === "chat";
    return {
      kind: "generation",
      stream,
      finishReason,
      frame: {
        kind: chat ? "chat" : "completion",
        id: `${chat ? "chatcmpl" : "cmpl"}-${entropy.uuid()}`,
        created: Math.floor(clock.now() / 1_000),
        model: attempt.model,
        promptTokens,
        cachedTokens,
        resumedTokens: attempt.resume?.tokens ?? 0,
        ...writing,
      },
    };
  }

  /** What this request's times are scaled by: normal around 1, cut at both ends. */
  #drawFactor(noise: number): number {
    if (noise === 0) return 1;
    const { entropy } = this.#options;
    const radius = Math.sqrt(-2 * Math.log(1 - entropy.float()));
    const normal = radius * Math.cos(2 * Math.PI * entropy.float());
    const deviations = Math.min(
      Math.max(normal, -MOST_DEVIATIONS),
      MOST_DEVIATIONS,
    );
    return Math.max(1 + noise * deviations, LEAST_FACTOR);
  }
}

function featuresOf(
  capabilities: readonly Capability[],
): readonly ModelFeature[] {
  if (!capabilities.includes("completion")) return [];
  return capabilities.includes("chat")
    ? ["tools", "json_schema", "logprobs", "n", "resume"]
    : ["logprobs", "n", "resume"];
}

function capabilitiesOf(model: SimulatedModel): readonly Capability[] {
  switch (model.capability) {
    case "chat":
      return ["chat", "completion"];
    case "completion":
    case "embedding":
    case "rerank":
      return [model.capability];
    case "transcription":
    case "speech":
      throw new TypeError(
        `Cannot simulate the capability "${model.capability}" of "${model.id}": use "chat", "completion", "embedding" or "rerank"`,
      );
    default: {
      const never: never = model.capability;
      return never;
    }
  }
}

function refuse(
  reason: "draining" | "model_not_here" | "queue_full",
  message: string,
  retryAfterMs: number | null,
): StartResult {
  return { kind: "refused", reason, message, retryAfterMs };
}
