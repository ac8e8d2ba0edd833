import type {
  Attempt,
  Engine,
  EngineView,
  InferenceRequest,
  NodeId,
  Offer,
  StartResult,
} from "../../src/domain/mod.ts";
import { Fault } from "../../src/domain/mod.ts";
import type { Clock } from "../../src/platform/mod.ts";
import {
  DONE,
  finish,
  ROLE,
  type Script,
  ScriptedEngine,
  type Step,
  text,
} from "./scripted_engine.ts";

/** Words of each complete answer: their numbers, from 0. */
export const WORDS = 6;

/** What an engine does with an attempt. */
export type Mood =
  /** Answers, a word each so many milliseconds. */
  | { readonly kind: "answers"; readonly gapMs: number }
  /** As if it began so, and then something happens. */
  | {
    readonly kind: "breaks" | "ends_early" | "hangs" | "reports_error";
    readonly gapMs: number;
    readonly after: number;
  }
  | {
    readonly kind: "says";
    readonly status: number;
    readonly retryAfter?: string;
    readonly afterMs: number;
  }
  | { readonly kind: "throws"; readonly at: "start" | "answer" }
  | {
    readonly kind: "refuses";
    readonly reason: "queue_full" | "draining" | "model_not_here";
  };

/**
 * An engine whose answers are numbered words, so that a word that comes twice or
 * is left out shows. It goes on where another one broke off, does what its mood
 * is, and can die with all that it does.
 */
export class NumberedEngine implements Engine {
  readonly node: NodeId;
  readonly nodeName: string;
  readonly id = "fake";
  /** Ids of the attempts it was asked, in order. */
  readonly asked: string[] = [];
  mood: Mood = { kind: "answers", gapMs: 100 };
  readonly #engine: ScriptedEngine;
  readonly #lives = new Set<AbortController>();

  /**
   * @param clock Time.
   * @param node Its node.
   * @param offers Its models.
   */
  constructor(clock: Clock, node: NodeId, offers: readonly Offer[]) {
    this.#engine = new ScriptedEngine({
      clock,
      node,
      offers,
      script: (attempt) => scriptOf(this.mood, attempt),
    });
    this.node = node;
    this.nodeName = this.#engine.nodeName;
  }

  /** Attempts that it is at work on. */
  get running(): number {
    return this.#engine.running;
  }

  view(): EngineView {
    return this.#engine.view();
  }

  async start(attempt: Attempt, signal: AbortSignal): Promise<StartResult> {
    this.asked.push(attempt.id);
    const life = new AbortController();
    const onAbort = () => life.abort(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    this.#lives.add(life);
    return await this.#engine.start(attempt, life.signal);
  }

  /** Its process dies: whatever it does breaks off. */
  die(): void {
    for (const life of this.#lives) {
      life.abort(new Fault("engine_failed", "It died", { origin: "engine" }));
    }
    this.#lives.clear();
  }
}

function scriptOf(mood: Mood, attempt: Attempt): Script {
  switch (mood.kind) {
    case "answers":
      return answer(attempt, WORDS, mood.gapMs, [finish(), DONE]);
    case "breaks":
    case "ends_early":
    case "hangs":
    case "reports_error":
      return answer(attempt, mood.after, mood.gapMs, endOf(mood.kind));
    case "says":
      return {
        kind: "answer",
        status: mood.status,
        contentType: "application/json",
        waitMs: mood.afterMs,
        ...(mood.retryAfter === undefined
          ? {}
          : { retryAfter: mood.retryAfter }),
        steps: ['{"error":{"message":"no"}}'],
      };
    case "throws":
      return { ...mood, kind: "throw", error: new Error("reset") };
    case "refuses":
      return {
        kind: "refuse",
        result: {
          kind: "refused",
          reason: mood.reason,
          message: "no",
          retryAfterMs: null,
        },
      };
    default: {
      const never: never = mood;
      return never;
    }
  }
}

function endOf(kind: "breaks" | "ends_early" | "hangs" | "reports_error") {
  switch (kind) {
    case "breaks":
      return [{ fail: new Error("reset") }];
    case "ends_early":
      return [];
    case "hangs":
      return [{ hang: true } as const];
    case "reports_error":
      return ['data: {"error":{"message":"oom"}}\n\n'];
    default: {
      const never: never = kind;
      return never;
    }
  }
}

function answer(
  { request, resume }: Attempt,
  to: number,
  gapMs: number,
  end: readonly Step[],
): Script {
  const from = resume?.tokens ?? 0;
  const numbers = Array.from(
    { length: Math.max(0, to - from) },
    (_, at) => from + at,
  );
  if (request.stream) {
    const words = numbers.flatMap((n) => [{ waitMs: gapMs }, text(`${n} `)]);
    return { kind: "answer", steps: [ROLE, ...words, ...end] };
  }
  const isWhole = end.includes(DONE);
  const whole = request.capability === "embedding"
    ? vectors(request)
    : JSON.stringify({
      choices: [{
        message: { content: numbers.map((n) => `${n} `).join("") },
        finish_reason: "stop",
      }],
    });
  return {
    kind: "answer",
    contentType: "application/json",
    waitMs: gapMs * numbers.length,
    steps: isWhole ? [whole] : [whole.slice(0, 10), ...end],
  };
}

/** As many vectors as there are inputs, each the number that its input is. */
function vectors({ body }: InferenceRequest): string {
  const inputs = Array.isArray(body.input) ? body.input : [body.input];
  return JSON.stringify({
    object: "list",
    data: inputs.map((input, index) => ({ index, embedding: [Number(input)] })),
  });
}
