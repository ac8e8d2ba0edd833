import {
  type Attempt,
  attemptIdOf,
  chooseTest,
  type Counter,
  Fault,
  type NodeId,
  parseDecisionId,
  probeEngines,
  type TestableEngine,
  type TestChoice,
  testLimitMs,
  type TestReport,
} from "../domain/mod.ts";
import type { Clock } from "../platform/mod.ts";
import { serviceMs } from "./estimate.ts";

/** An engine that can be tested. */
export interface TestedEngine extends TestableEngine {
  /**
   * Run a request of the node's own to the end of its answer, if its model is
   * still warm then.
   *
   * @returns The answer's status, or null where it was not run.
   */
  runOwn(attempt: Attempt, signal: AbortSignal): Promise<number | null>;
}

/** What a test needs. */
export interface TestTaskOptions {
  readonly clock: Clock;
  readonly node: NodeId;
  /** Counts tests by how they were done and what came of them. */
  readonly tests: Counter;
  /** The node's engines as they are now. */
  engines(): readonly TestedEngine[];
  /** Whether the node takes work of peers now. */
  mayRun(): boolean;
}

const SHARED_MS = 10_000;
/** Whoever was told of a failure asks again after 5 s, and is to hear of a new test. */
const FAILURE_SHARED_MS = 4000;
const PROMPT = "Hi";
const PROMPT_TOKENS = 8;

type TokenChoice = Extract<TestChoice, { readonly kind: "token" }>;

/**
 * Proves to members for which this node was away that its engines work. One
 * test at a time; its result holds for everybody who asks within 10 s, a
 * failure for 4 s.
 */
export class TestTask implements Disposable {
  readonly #options: TestTaskOptions;
  readonly #life = new AbortController();
  #latest: Promise<TestReport> | null = null;
  /** When the latest test was over; Infinity while it runs. */
  #overMs = Infinity;
  #sharedMs = SHARED_MS;

  /** @param options What it needs. */
  constructor(options: TestTaskOptions) {
    this.#options = options;
  }

  /** The result of a test that runs, or ran within the last 10 s, or of a new one. */
  run(): Promise<TestReport> {
    const { clock } = this.#options;
    const isOld = clock.monotonic() - this.#overMs >= this.#sharedMs;
    if (this.#latest !== null && !isOld) return this.#latest;
    this.#overMs = Infinity;
    return this.#latest = this.#test().finally(() => {
      this.#overMs = clock.monotonic();
    });
  }

  [Symbol.dispose](): void {
    this.#life.abort(new Fault("shutting_down", "This node is shutting down"));
  }

  async #test(): Promise<TestReport> {
    const { engines, mayRun, tests } = this.#options;
    const all = engines();
    const choice = chooseTest(all, mayRun());
    const engine = choice.kind === "token"
      ? all.find(({ id }) => id === choice.engine)
      : undefined;
    const report = choice.kind === "probe" || engine === undefined
      ? probeEngines(all)
      : await this.#token(engine, choice);
    const outcome = report.passed ? "passed" : "failed";
    tests.add(1, { by: report.by, outcome });
    this.#sharedMs = report.passed ? SHARED_MS : FAILURE_SHARED_MS;
    return report;
  }

  async #token(
    engine: TestedEngine,
    choice: TokenChoice,
  ): Promise<TestReport> {
    const { clock } = this.#options;
    const attempt = this.#attempt(choice);
    const limitMs = testLimitMs(attempt.predictedMs);
    using deadline = clock.deadline(limitMs, this.#life.signal);
    const name = `"${choice.offer.model}" on ${choice.engine}`;
    let reason: string | null = null;
    try {
      const status = await engine.runOwn(attempt, deadline.signal);
      if (status === null) return probeEngines([engine]);
      if (status >= 500) reason = `${name} answered with status ${status}`;
    } catch (error) {
      reason = deadline.signal.aborted
        ? `${name} gave no token within ${limitMs} ms`
        : `${name} failed: ${
          error instanceof Error ? error.message : String(error)
        }`;
    }
    return { passed: reason === null, by: "token", reason };
  }

  #attempt({ capability, offer }: TokenChoice): Attempt {
    const decision = parseDecisionId("test-task");
    if (decision === undefined) throw new Fault("internal", "A bad id");
    const work = {
      capability,
      promptTokens: PROMPT_TOKENS,
      outputTokens: 1,
      cachedTokens: 0,
    };
    const { model } = offer;
    const written = capability === "embedding" ? null : 1;
    return {
      id: attemptIdOf(decision, 1),
      entry: this.#options.node,
      dispatch: 1,
      model,
      expectedOutputTokens: 1,
      predictedMs: serviceMs(work, offer, 1),
      request: {
        capability,
        model,
        source: { kind: "local" },
        stream: false,
        includeUsage: false,
        body: {
          ...capability === "chat"
            ? { messages: [{ role: "user", content: PROMPT }] }
            : capability === "completion"
            ? { prompt: PROMPT }
            : { input: [PROMPT] },
          ...written === null ? {} : { max_tokens: written, temperature: 0 },
        },
        promptTokens: PROMPT_TOKENS,
        maxOutputTokens: written,
        inputCount: 1,
        needs: [],
        conversation: null,
        client: "test-task",
      },
    };
  }
}
