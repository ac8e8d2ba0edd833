import {
  type Attempt,
  type Availability,
  type Engine,
  type EngineView,
  type Hop,
  type NodeId,
  type Offer,
  parseNodeId,
  type StartResult,
} from "../../src/domain/mod.ts";
import type { Clock } from "../../src/platform/mod.ts";

/** What a scripted body does next. */
export type Step =
  | string
  | Uint8Array
  | { readonly waitMs: number }
  | { readonly fail: unknown }
  /** Never goes on, until it is cancelled. */
  | { readonly hang: true };

/** How a scripted engine answers one attempt. */
export type Script =
  | {
    readonly kind: "answer";
    readonly status?: number;
    readonly contentType?: string;
    readonly retryAfter?: string;
    /** Before the head. */
    readonly waitMs?: number;
    readonly steps: readonly Step[];
  }
  | { readonly kind: "refuse"; readonly result: StartResult }
  | {
    readonly kind: "throw";
    readonly at: "start" | "answer";
    readonly error: unknown;
  };

/** What a test says of an engine. */
export interface ScriptedEngineOptions {
  readonly clock: Clock;
  readonly node: NodeId;
  readonly nodeName?: string;
  readonly id?: string;
  readonly isMeasurable?: boolean;
  readonly offers: readonly Offer[];
  readonly script: (attempt: Attempt, n: number) => Script;
}

/** An engine that does what a test tells it, and keeps count. */
export class ScriptedEngine implements Engine {
  readonly node: NodeId;
  readonly nodeName: string;
  readonly id: string;
  readonly isMeasurable: boolean;
  readonly attempts: Attempt[] = [];
  availability: Availability = { kind: "available" };
  hop: Hop = { medianMs: 0, jitterMs: 0 };
  offers: readonly Offer[];
  dispatchesSeen = Infinity;
  running = 0;
  mostRunning = 0;
  /** Attempts whose body was cancelled or whose signal aborted while they ran. */
  stopped = 0;
  readonly #options: ScriptedEngineOptions;

  constructor(options: ScriptedEngineOptions) {
    this.#options = options;
    this.node = options.node;
    this.nodeName = options.nodeName ?? options.node.slice(-4);
    this.id = options.id ?? "fake";
    this.isMeasurable = options.isMeasurable ?? false;
    this.offers = options.offers;
  }

  view(): EngineView {
    const { availability, hop, offers, dispatchesSeen } = this;
    return { availability, hop, offers, dispatchesSeen };
  }

  start(attempt: Attempt, signal: AbortSignal): Promise<StartResult> {
    this.attempts.push(attempt);
    const script = this.#options.script(attempt, this.attempts.length);
    if (script.kind === "refuse") return Promise.resolve(script.result);
    if (script.kind === "throw" && script.at === "start") {
      return Promise.reject(script.error);
    }
    return Promise.resolve({
      kind: "accepted",
      queue: { slots: 1, runningMs: [], waitingMs: [] },
      answer: async () => {
        if (script.kind === "throw") throw script.error;
        const end = this.#begin();
        try {
          if (script.waitMs !== undefined) {
            await this.#options.clock.sleep(script.waitMs, signal);
          }
        } catch (thrown) {
          end(true);
          throw thrown;
        }
        return {
          status: script.status ?? 200,
          contentType: script.contentType ?? "text/event-stream",
          retryAfter: script.retryAfter ?? null,
          body: this.#body(script.steps, signal, end),
        };
      },
    });
  }

  #begin(): (stopped?: boolean) => void {
    this.running++;
    this.mostRunning = Math.max(this.mostRunning, this.running);
    let isOver = false;
    return (stopped = false) => {
      if (isOver) return;
      isOver = true;
      this.running--;
      if (stopped) this.stopped++;
    };
  }

  #body(
    steps: readonly Step[],
    signal: AbortSignal,
    end: (stopped?: boolean) => void,
  ): ReadableStream<Uint8Array> {
    const { clock } = this.#options;
    const left = [...steps];
    const stop = new AbortController();
    const onAbort = () => stop.abort(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    const finish = (stopped = false) => {
      signal.removeEventListener("abort", onAbort);
      end(stopped);
    };
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        for (;;) {
          const step = left.shift();
          if (step === undefined) {
            finish();
            return controller.close();
          }
          if (typeof step === "string") {
            return controller.enqueue(new TextEncoder().encode(step));
          }
          if (step instanceof Uint8Array) return controller.enqueue(step);
          try {
            if ("fail" in step) throw step.fail;
            await clock.sleep("hang" in step ? 1e9 : step.waitMs, stop.signal);
          } catch (thrown) {
            finish(stop.signal.aborted);
            return controller.error(thrown);
          }
        }
      },
      cancel: (reason) => {
        stop.abort(reason);
        finish(true);
      },
    }, { highWaterMark: 0 });
  }
}

/** A node id ending in a digit, for tests. */
export function nodeIdOf(digit: number): NodeId {
  const id = parseNodeId(`00000000-0000-4000-8000-00000000000${digit}`);
  if (id === undefined) throw new RangeError(`No node id for ${digit}`);
  return id;
}

/** A warm chat model on one slot, 1,000 tokens/s prefill, 10 ms a token. */
export function offerOf(part: Partial<Offer> = {}): Offer {
  return {
    model: "m",
    root: null,
    capabilities: ["chat"],
    features: [],
    contextLength: 8192,
    sizeBytes: null,
    state: { kind: "warm", loadTimeMs: null },
    device: "cpu",
    queue: { slots: 1, runningMs: [], waitingMs: [] },
    rates: {
      prefillTokensPerSecond: 1000,
      tpotMs: [10],
      loadTimeMs: 4000,
      observations: 0,
      typicalError: 0,
      expectedOutputTokens: 100,
    },
    ...part,
  };
}

/** One event of the internal dialect. */
export function event(json: unknown): string {
  return `data: ${JSON.stringify(json)}\n\n`;
}

/** The event that opens a chat answer. */
export const ROLE: string = event({
  id: "c1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta: { role: "assistant", content: "" } }],
});

/** The terminator. */
export const DONE = "data: [DONE]\n\n";

/** An event with text. */
export function text(content: string): string {
  return event({
    id: "c1",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta: { content } }],
  });
}

/** The event that ends a chat answer. */
export function finish(reason = "stop"): string {
  return event({
    id: "c1",
    choices: [{ index: 0, delta: {}, finish_reason: reason }],
  });
}

/** A complete chat answer. */
export function answering(...words: readonly string[]): Script {
  return {
    kind: "answer",
    steps: [ROLE, ...words.map(text), finish(), DONE],
  };
}

/** A complete chat answer that takes a while. */
export function answeringIn(ms: number, tokens: number): Script {
  return {
    kind: "answer",
    steps: [
      ROLE,
      text("w"),
      { waitMs: ms },
      finish("length"),
      event({
        choices: [],
        usage: { prompt_tokens: 10, completion_tokens: tokens },
      }),
      DONE,
    ],
  };
}
