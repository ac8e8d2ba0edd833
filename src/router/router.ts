import {
  type Attempt,
  type DecisionId,
  type DecisionRecord,
  type Engine,
  Fault,
  faultOfDecision,
  type InferenceRequest,
  type Log,
  type Machine,
  type Metrics,
  type ModelListing,
  type ModelSet,
  type NodeId,
  type NodeStanding,
  type PlacedOffer,
  type Refusal,
  type RoutedAnswer,
  type Router,
  type Source,
  type SpeedPrior,
  type StartResult,
  type TestReport,
  type UnloadOutcome,
  type WorkReport,
} from "../domain/mod.ts";
import type { Clock, Entropy } from "../platform/mod.ts";
import { AnswerSession } from "./answer_session.ts";
import { eachNamed } from "./asked_offers.ts";
import { AttemptMemory } from "./attempt_memory.ts";
import { Continuation } from "./continuation.ts";
import { Corrections } from "./correction.ts";
import { DecisionLog, newDecisionId } from "./decision_log.ts";
import { DeviceQueues } from "./device_queues.ts";
import { DispatchLedger } from "./dispatch_ledger.ts";
import { NameBook } from "./engine_names.ts";
import { FreeSlotBell } from "./free_slot_bell.ts";
import { registerLearningMetrics } from "./learning_metrics.ts";
import { LengthBook } from "./length_book.ts";
import { LocalEngines } from "./local_engines.ts";
import { listModels } from "./model_list.ts";
import { parseModelName } from "./model_name.ts";
import type { Policy } from "./preference.ts";
import { decodes } from "./estimate.ts";
import { PrefixBook } from "./prefix_book.ts";
import type { PrefixChains } from "./prefix_chain.ts";
import { reportOn } from "./machine_standing.ts";
import { QueuedEngine } from "./queued_engine.ts";
import { RequestRun } from "./request_run.ts";
import { isResumable, stopsOf } from "./resumable.ts";
import { SessionRoutedAnswer } from "./routed_answer.ts";
import { RouterMetrics } from "./router_metrics.ts";
import type { RunContext } from "./run_context.ts";
import { SeenDispatches } from "./seen_dispatches.ts";
import type { SplitPlan } from "./split_plan.ts";
import { answerSplit } from "./split_session.ts";
import { listStandings } from "./standing_list.ts";
import { Standings } from "./standings.ts";
import { TestTask } from "./test_task.ts";
import { unloadModel } from "./unload.ts";

/** What a router is made of. */
export interface RouterOptions {
  /** This node. */
  readonly self: { readonly id: NodeId; readonly name: string };
  /** This node's engines, without queues: the router puts its own in front. */
  readonly localEngines: readonly Engine[];
  /** Further ones that come and go; the same list while none did. None unless said. */
  readonly foundEngines?: () => readonly Engine[];
  /** The peers' engines as they are now. Called for every placement. */
  peers(): readonly Engine[];
  /** Where a request goes whose source is unsaid. */
  readonly policy: Policy;
  /** Requests that may wait per model on this node. */
  readonly maxQueue: number;
  /** How long an idle model stays loaded, in milliseconds; 5 minutes unless told otherwise. */
  readonly keepAliveMs?: number;
  /** The machine this node is on; unset where nobody watches it. */
  readonly machine?: Machine;
  /**
   * What the machine's state does to an engine's speed; null, as where unset,
   * for engines that compute elsewhere or only pretend to.
   */
  readonly speedOf?: (engine: Engine) => SpeedPrior | null;
  /** Names that the operator joined; none unless said. */
  readonly modelSets?: readonly ModelSet[];
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** The dispatcher with what its owner needs to end it in good order. */
export interface OwnedRouter extends Router, AsyncDisposable {
  /** Requests of clients, and attempts of peers, that are not over. */
  inFlight(): number;
}

/**
 * Make the one dispatcher for this node's engines and its peers'. Disposing it
 * ends what waits and what runs with a `shutting_down` fault.
 *
 * @param options Engines, policy and ports.
 * @returns The router.
 */
export function createRouter(options: RouterOptions): OwnedRouter {
  return new EngineRouter(options);
}

const PREFIX_KEY_BYTES = 32;
const KEEP_ALIVE_MS = 300_000;
/** For a request that wants none. */
const EMPTY_ANSWER = JSON.stringify({
  object: "chat.completion",
  choices: [{
    index: 0,
    message: { role: "assistant", content: "" },
    finish_reason: "stop",
  }],
});

class EngineRouter implements OwnedRouter {
  readonly #options: RouterOptions;
  readonly #queues: DeviceQueues;
  readonly #local: LocalEngines;
  readonly #context: RunContext;
  readonly #prefixKey: Uint8Array;
  #prefixChains: PrefixChains | null = null;
  readonly #decisions = new DecisionLog();
  readonly #memory = new AttemptMemory();
  readonly #seen = new SeenDispatches();
  readonly #sessions = new Set<AnswerSession>();
  readonly #test: TestTask;
  #isClosed = false;
  #isDraining = false;

  constructor(options: RouterOptions) {
    const { self, policy, clock, entropy, maxQueue, metrics } = options;
    this.#options = options;
    const bell = new FreeSlotBell();
    this.#queues = new DeviceQueues(clock, () => bell.ring());
    this.#local = new LocalEngines(
      enginesOf(options),
      (raw) =>
        new QueuedEngine(raw, {
          clock,
          queues: this.#queues,
          maxQueue,
          isDraining: () => this.#isDraining,
          ...(options.machine === undefined
            ? {}
            : { machine: options.machine }),
          speed: options.speedOf?.(raw) ?? null,
        }),
    );
    this.#test = new TestTask({
      clock,
      node: self.id,
      tests: metrics.counter(
        "covey_test_tasks_total",
        "Tests of this node's engines for members to which it came back, by how they were done and what came of them",
        ["by", "outcome"],
      ),
      engines: () => this.#local.all(),
      mayRun: () =>
        !this.#isDraining && !this.#isClosed &&
        (options.machine?.served().kind ?? "everyone") === "everyone",
    });
    const corrections = new Corrections();
    registerLearningMetrics(metrics, {
      slowdowns: () =>
        this.#local.all().flatMap((engine) => engine.slowdowns()),
      corrections: () => corrections.values(clock.monotonic()),
    });
    this.#prefixKey = entropy.bytes(PREFIX_KEY_BYTES);
    this.#context = {
      self: self.id,
      policy,
      clock,
      entropy,
      log: options.log,
      ledger: new DispatchLedger(),
      standings: new Standings(),
      lengths: new LengthBook(),
      prefixes: new PrefixBook(),
      modelSets: options.modelSets ?? [],
      keepAliveMs: options.keepAliveMs ?? KEEP_ALIVE_MS,
      decisions: this.#decisions,
      bell,
      corrections,
      names: new NameBook(),
      metrics: new RouterMetrics(
        metrics,
        this.#queues,
        () => this.inFlight(),
        () => this.standing(),
      ),
      engines: () => this.#engines(),
    };
  }

  async route(
    request: InferenceRequest,
    signal: AbortSignal,
  ): Promise<RoutedAnswer> {
    if (this.#isClosed) throw shuttingDown();
    if (request.upkeep?.only === "unload") {
      return await this.#unloadFor(request, signal);
    }
    const chain = decodes(request.capability)
      ? (this.#prefixChains ?? await this.#loadChains()).chain(request)
      : null;
    // The first prompt's digests were waited for.
    if (this.#isClosed) throw shuttingDown();
    const run = new RequestRun(this.#context, request, chain);
    try {
      const plan = run.divide();
      return plan === null
        ? await this.#routeWhole(run, request, signal)
        : await this.#routeParts(run, request, plan, signal);
    } catch (thrown) {
      throw thrown instanceof Fault && this.#decisions.has(run.id)
        ? faultOfDecision(thrown, run.id)
        : thrown;
    }
  }

  /** Whoever may ask for answers may give a model up, but not against a pin. */
  async #unloadFor(
    request: InferenceRequest,
    signal: AbortSignal,
  ): Promise<RoutedAnswer> {
    const { clock, entropy, self } = this.#context;
    const { model, source } = request;
    await this.unload(model, { source, evenPinned: false }, signal);
    return {
      decision: newDecisionId(clock.now(), entropy),
      node: self,
      model,
      predictedMs: 0,
      status: 200,
      contentType: "application/json",
      retryAfter: null,
      body: new Blob([EMPTY_ANSWER]).stream(),
    };
  }

  async #routeWhole(
    run: RequestRun,
    request: InferenceRequest,
    signal: AbortSignal,
  ): Promise<RoutedAnswer> {
    const continuation = isResumable(request)
      ? new Continuation(stopsOf(request))
      : null;
    const answer = await this.#session(run, signal, continuation)
      .answer(request.stream);
    return new SessionRoutedAnswer(
      run.id,
      answer,
      answer.begun.candidate.estimate,
    );
  }

  /** Loaded with the first prompt: the digests' library costs an idle node 8 MB. */
  async #loadChains(): Promise<PrefixChains> {
    const { PrefixChains } = await import("./prefix_chain.ts");
    return this.#prefixChains ??= new PrefixChains(this.#prefixKey);
  }

  async #routeParts(
    run: RequestRun,
    request: InferenceRequest,
    plan: SplitPlan,
    client: AbortSignal,
  ): Promise<RoutedAnswer> {
    try {
      const answer = await answerSplit(
        request,
        plan,
        (partial, part, signal) => {
          const split = { ...part, decision: run.id };
          const one = new RequestRun(this.#context, partial, null, split);
          return this.#session(one, signal).answer(false);
        },
        client,
      );
      run.ended(answer.status < 400 ? "answered" : "rejected", null);
      // Nothing is decoded whose length had to be guessed.
      const { predictedMs } = plan;
      return new SessionRoutedAnswer(run.id, answer, {
        estimateMs: predictedMs,
        p80Ms: predictedMs,
      });
    } catch (thrown) {
      run.ended(client.aborted ? "cancelled" : "failed", null);
      throw thrown;
    }
  }

  #session(
    run: RequestRun,
    signal: AbortSignal,
    continuation: Continuation | null = null,
  ): AnswerSession {
    const session = new AnswerSession(run, signal, {
      content: () => run.content(),
      ended: (outcome, tally) => {
        this.#sessions.delete(session);
        run.ended(outcome, tally);
      },
    }, continuation);
    this.#sessions.add(session);
    return session;
  }

  async serve(
    engine: string,
    attempt: Attempt,
    signal: AbortSignal,
  ): Promise<StartResult> {
    if (this.#isClosed) return refused("draining", "is shutting down");
    if (this.#isDraining) return refused("draining", "is draining");
    const served = this.#options.machine?.served();
    if (served !== undefined && served.kind !== "everyone") {
      return refused("not_lent", served.reason);
    }
    const nowMs = this.#context.clock.monotonic();
    if (!this.#memory.admit(attempt.id, nowMs)) {
      return refused("duplicate_attempt", `has seen ${attempt.id} before`);
    }
    this.#seen.see(attempt.entry, attempt.dispatch);
    const local = this.#local.all().find((one) => one.id === engine);
    if (local === undefined) {
      return refused("model_not_here", `has no engine "${engine}"`);
    }
    if (local.isPrivate) {
      return refused("not_lent", `does not lend its engine "${engine}"`);
    }
    return await local.start(attempt, signal);
  }

  models(): readonly ModelListing[] {
    return listModels(this.#engines(), this.#context.modelSets);
  }

  offers(model?: string): readonly PlacedOffer[] {
    const name = model === undefined
      ? null
      : parseModelName(model, this.#context.modelSets);
    return this.#engines().flatMap((engine) => {
      const view = engine.view();
      if (view.availability.kind === "unavailable") return [];
      const { node, nodeName, id } = engine;
      const offers = [...view.offers];
      const asked = new Set<string>();
      if (name !== null) {
        eachNamed(name, { view }, (tier, one) => {
          if (tier === 0) asked.add(one.model);
        });
      }
      return offers
        .filter((one) => name === null || asked.has(one.model))
        .map((offer) => ({ node, nodeName, engine: id, offer }));
    });
  }

  async unload(
    model: string,
    order: { readonly source: Source; readonly evenPinned: boolean },
    signal: AbortSignal,
  ): Promise<readonly UnloadOutcome[]> {
    const { clock, entropy, modelSets, self } = this.#context;
    return await unloadModel(
      {
        self,
        clock,
        engines: this.#engines(),
        newId: () => newDecisionId(clock.now(), entropy),
      },
      { name: parseModelName(model, modelSets), ...order },
      signal,
    );
  }

  report(): WorkReport {
    return {
      engines: this.#local.all().filter(({ isPrivate }) => !isPrivate).map((
        engine,
      ) => ({
        id: engine.id,
        offers: engine.view().offers,
      })),
      dispatchesSeen: this.#seen.snapshot(),
      draining: this.#isDraining,
      inFlight: this.inFlight(),
      ...reportOn(this.#options.machine),
    };
  }

  testEngines(): Promise<TestReport> {
    return this.#test.run();
  }

  standing(): readonly NodeStanding[] {
    const { standings, clock } = this.#context;
    return listStandings(this.#engines(), standings, clock.monotonic());
  }

  drain(draining: boolean): void {
    this.#isDraining = draining;
  }

  isDraining(): boolean {
    return this.#isDraining;
  }

  decision(id: DecisionId): DecisionRecord | undefined {
    return this.#decisions.get(id);
  }

  latestDecisions(limit: number): readonly DecisionRecord[] {
    return this.#decisions.latest(limit);
  }

  inFlight(): number {
    const { id } = this.#options.self;
    return this.#local.all().reduce(
      (sum, engine) => sum + engine.heldFor((entry) => entry !== id),
      this.#sessions.size,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#test[Symbol.dispose]();
    const sessions = [...this.#sessions];
    for (const session of sessions) session.abort(shuttingDown());
    this.#local[Symbol.dispose]();
    await Promise.all(sessions.map((session) => session.over));
  }

  #engines(): readonly Engine[] {
    return [...this.#local.all(), ...this.#options.peers()];
  }
}

/** Those there always are, and those that were found; one list while none changes. */
function enginesOf(
  { foundEngines, localEngines }: RouterOptions,
): () => readonly Engine[] {
  if (foundEngines === undefined) return () => localEngines;
  let latest: readonly Engine[] = [];
  let all = localEngines;
  return () => {
    const found = foundEngines();
    if (found !== latest) {
      latest = found;
      all = [...localEngines, ...found];
    }
    return all;
  };
}

function shuttingDown(): Fault {
  return new Fault("shutting_down", "This node is shutting down");
}

function refused(
  reason: Exclude<Refusal, "queue_full">,
  message: string,
): StartResult {
  return {
    kind: "refused",
    reason,
    message: `This node ${message}`,
    retryAfterMs: null,
  };
}
