import {
  type Attempt,
  attemptIdOf,
  type AttemptOutcome,
  type DecisionId,
  type Engine,
  Fault,
  formatSource,
  type InferenceRequest,
  type Resume,
} from "../domain/mod.ts";
import type { Clock } from "../platform/mod.ts";
import type { RequestOutcome, SessionEvents } from "./answer_session.ts";
import type { AnswerTally } from "./answer_tally.ts";
import type { BegunAttempt, LoopEffects } from "./attempt_loop.ts";
import type { Candidate, Demand } from "./candidate.ts";
import { choicesOf } from "./choices.ts";
import { newDecisionId } from "./decision_log.ts";
import { isForecast } from "./demand.ts";
import { decodes, serviceMs, type Work } from "./estimate.ts";
import { patientUntilMs } from "./patience.ts";
import { placeOf } from "./prefix_book.ts";
import type { PrefixChain } from "./prefix_chain.ts";
import { keepInputs } from "./placement_inputs.ts";
import { RequestMoves } from "./request_moves.ts";
import type { RunContext } from "./run_context.ts";
import { NO_PROCESS, processIn } from "./process_change.ts";
import { readSettlement, type Settlement } from "./settlement.ts";
import { divisibleInputs } from "./split_inputs.ts";
import { planSplit, type SplitPlan } from "./split_plan.ts";
import type { RunPart } from "./split_session.ts";
import type { EnginePlace, Met, Pass } from "./standings.ts";
import { timeLimits } from "./time_limits.ts";
import { type Weighed, Weigher } from "./weigher.ts";

/** What is known of an attempt that was sent. */
interface Sent {
  readonly candidate: Candidate;
  readonly engine: Engine;
  readonly attempt: Attempt;
  readonly pass: Pass;
  readonly sentAtMs: number;
  /** Whether a forecast made its answer's expected length, rather than the request's limit. */
  readonly isForecast: boolean;
}

/** Ends of an attempt after which another one takes over. */
const FAILURES: ReadonlySet<AttemptOutcome> = new Set([
  "refused",
  "failed",
  "broken_off",
]);
const WARM = { kind: "warm", loadTimeMs: null } as const;
/** Of a prediction that was mostly a wait this entry learns nothing of the speed. */
const MOST_WAITING = 0.5;

/**
 * One request's way through the router's state: places it, begins and settles
 * its attempts, and writes down what came of it.
 */
export class RequestRun implements LoopEffects, SessionEvents {
  readonly id: DecisionId;
  readonly clock: Clock;
  readonly #context: RunContext;
  readonly #request: InferenceRequest;
  readonly #seed: number;
  readonly #arrivedAtMs: number;
  readonly #tried = new Set<string>();
  readonly #moves: RequestMoves;
  readonly #part: (RunPart & { readonly decision: DecisionId }) | null;
  #last: Sent | null = null;
  #resume: (Resume & { readonly root: string }) | null = null;
  readonly #chain: PrefixChain | null;
  readonly #weigher: Weigher;
  #ttftMs: number | null = null;
  /** Whether the attempt before was refused, failed or broke off. */
  #hasFailed = false;

  /**
   * @param context The router's state.
   * @param request What the client asked.
   * @param chain What its prompt begins with, or null where nothing is decoded.
   * @param part Which part of a divided request it is: its attempts then belong to that decision, which its owner records.
   */
  constructor(
    context: RunContext,
    request: InferenceRequest,
    chain: PrefixChain | null,
    part: (RunPart & { readonly decision: DecisionId }) | null = null,
  ) {
    this.#part = part;
    for (const key of part?.avoid ?? []) this.#tried.add(key);
    this.#context = context;
    this.#request = request;
    this.clock = context.clock;
    this.id = part?.decision ??
      newDecisionId(context.clock.now(), context.entropy);
    this.#seed = Math.floor(context.entropy.float() * 2 ** 32);
    this.#arrivedAtMs = context.clock.monotonic();
    const { bell, clock, metrics } = context;
    this.#moves = new RequestMoves({
      bell,
      clock,
      metrics,
      weigh: (current) => this.#weigh(current).placement,
    });
    this.#chain = chain;
    this.#weigher = new Weigher(context, request, chain, this.#seed);
  }

  begin(n: number, resume?: Resume): BegunAttempt | Fault {
    if (resume !== undefined) {
      const root = this.#last?.candidate.offer.root ?? null;
      if (
        root === null ||
        this.#last?.candidate.offer.features.includes("resume") !== true
      ) {
        return new Fault("no_candidate", "Nobody can go on with this answer");
      }
      this.#resume = { ...resume, root };
    }
    const weighed = this.#weigh(null);
    const { demand, engineOf, placement } = weighed;
    if (n === 1 && this.#part === null) this.#record(weighed);
    const target = this.#moves.takeTarget() ??
      (n === 1 ? this.#part?.prefer : null);
    if (placement.kind === "nowhere") return placement.fault;
    const { first } = placement;
    const candidate = target === null || target === undefined
      ? first
      : placement.find(target) ?? first;
    const engine = engineOf(candidate);
    if (engine === undefined) {
      return new Fault("internal", "Covey lost a candidate");
    }
    this.#tried.add(candidate.engine.key);
    return this.#dispatch(engine, candidate, demand, n);
  }

  /**
   * Plan to divide the request's inputs, and record that as its placement.
   *
   * @returns The plan, or null where the request is better left whole; then nothing is recorded.
   */
  divide(): SplitPlan | null {
    const inputs = divisibleInputs(this.#request);
    if (inputs === null) return null;
    const weighed = this.#weigh(null);
    const { placement } = weighed;
    if (placement.kind === "nowhere") return null;
    const plan = planSplit(placement.order, inputs);
    if (plan === null) return null;
    this.#record(weighed, plan.predictedMs);
    this.#context.metrics.divided();
    return plan;
  }

  #weigh(current: string | null): Weighed {
    return this.#weigher.weigh(this.#tried, current, this.#resume);
  }

  content(): void {
    this.#ttftMs ??= this.#elapsedMs();
  }

  ended(outcome: RequestOutcome, tally: AnswerTally | null): void {
    const { metrics, decisions, log } = this.#context;
    const totalMs = this.#elapsedMs();
    this.#moves[Symbol.dispose]();
    if (this.#part !== null) return;
    metrics.request(outcome, this.#request.capability);
    if (tally !== null) metrics.tokens(tally);
    decisions.finish(this.id, {
      ttftMs: this.#ttftMs,
      totalMs,
      outputTokens: tally?.outputTokens ?? 0,
      promptTokens: tally?.promptTokens ?? null,
    });
    log.debug("Request ended", { decision: this.id, outcome, totalMs });
    if (outcome === "answered" && tally !== null) this.#measure(totalMs, tally);
  }

  #dispatch(
    engine: Engine,
    candidate: Candidate,
    demand: Demand,
    n: number,
  ): BegunAttempt {
    const { ledger, standings, decisions, metrics, clock, self } =
      this.#context;
    const { offer, estimate, cachedTokens } = candidate;
    const work: Work = {
      capability: demand.capability,
      promptTokens: demand.promptTokens,
      outputTokens: demand.expected.meanTokens,
      cachedTokens,
      ...(demand.choices === undefined ? {} : { choices: demand.choices }),
    };
    const { slots, runningMs } = offer.queue;
    const concurrency = Math.min(runningMs.length + 1, slots);
    const attempt: Attempt = {
      id: attemptIdOf(this.id, (this.#part?.numberFrom ?? 0) + n),
      entry: self,
      dispatch: ledger.open(
        engine.node,
        offer.device,
        // A load that somebody before it waits for is not its own.
        estimate.terms.loadMs +
          serviceMs(work, { ...offer, state: WARM }, concurrency),
        offer.model,
      ),
      request: this.#request,
      model: offer.model,
      expectedOutputTokens: demand.expected.meanTokens,
      predictedMs: estimate.estimateMs,
      ...(cachedTokens > 0 ? { cachedTokens } : {}),
      ...(this.#resume === null ? {} : {
        resume: { text: this.#resume.text, tokens: this.#resume.tokens },
      }),
    };
    const sent: Sent = {
      candidate,
      engine,
      attempt,
      pass: standings.pass(candidate.engine, clock.monotonic()),
      sentAtMs: clock.monotonic(),
      isForecast: isForecast(demand, this.#request.maxOutputTokens),
    };
    metrics.binding(engine.node === self ? "self" : "peer");
    metrics.keptPrompt(cachedTokens);
    if (this.#hasFailed) {
      metrics.failOver(this.#resume === null ? "before_content" : "mid_stream");
    }
    this.#last = sent;
    decisions.begin(this.id, {
      id: attempt.id,
      node: engine.node,
      engine: engine.id,
      model: offer.model,
      dispatch: attempt.dispatch,
      startedAtMs: this.#elapsedMs(),
      endedAtMs: null,
      outcome: "running",
      reason: null,
      ...(this.#resume === null
        ? {}
        : { resumedAtTokens: this.#resume.tokens }),
      ...(this.#part === null
        ? {}
        : { part: { from: this.#part.from, count: this.#part.count } }),
      predictedMs: estimate.estimateMs,
    });
    const limits = timeLimits(this.#request, offer, estimate);
    return {
      candidate,
      engine,
      attempt,
      limits: {
        ...limits,
        alive: () => standings.alive(candidate.engine, clock.monotonic()),
        patientUntilMs: () =>
          patientUntilMs(limits, {
            sentAtMs: sent.sentAtMs,
            nowMs: clock.monotonic(),
            aliveAtMs: standings.aliveAtMs(candidate.engine),
            isThere: offersModel(engine, offer.model),
          }),
        watch: (accepted, leave) =>
          this.#moves.watch(
            { key: candidate.engine.key, attempt, accepted },
            leave,
          ),
      },
      settle: (settled) => this.#settle(sent, settled),
    };
  }

  #settle(sent: Sent, settled: Settlement): number | null {
    const { ledger, standings, decisions, metrics, clock, log } = this.#context;
    const { candidate, attempt } = sent;
    const { outcome, reason, ...verdict } = readSettlement(settled);
    ledger.close(candidate.engine.node, attempt.dispatch);
    // Where it was taken back it may go again.
    if (settled.kind === "withdrawn") this.#tried.delete(candidate.engine.key);
    this.#context.bell.ring();
    const nowMs = clock.monotonic();
    const tookMs = nowMs - sent.sentAtMs;
    const opened = standings.settle(
      placeNow(sent),
      sent.pass,
      verdict,
      nowMs,
      tookMs,
      verdict.engine === "error" ? metBy(sent) : undefined,
    );
    for (const scope of opened) metrics.breakerOpened(scope);
    metrics.attempt(outcome);
    this.#hasFailed = FAILURES.has(outcome);
    decisions.end(this.id, attempt.id, {
      endedAtMs: this.#elapsedMs(),
      outcome,
      reason,
    });
    if (settled.kind === "failed" || settled.kind === "broken_off") {
      metrics.failure(settled.fault.code);
      log.warn("Attempt failed", {
        attempt: attempt.id,
        node: candidate.engine.nodeName,
        engine: candidate.engine.engine,
        outcome,
        reason,
        cause: causeOf(settled.fault),
      });
    }
    this.#learnLength(settled);
    this.#keepPrefix(candidate, settled);
    return this.#restOf(sent, settled);
  }

  #restOf(sent: Sent, settled: Settlement): number | null {
    if (settled.kind !== "rate_limited" && settled.kind !== "busy") return null;
    const retryAfter = settled.kind === "busy" ? null : settled.retryAfter;
    this.#context.metrics.cooldown();
    return this.#context.standings.rest(placeNow(sent), retryAfter, {
      monotonicMs: this.clock.monotonic(),
      wallMs: this.clock.now(),
    }, metBy(sent));
  }

  #learnLength(settled: Settlement): void {
    if (!("tally" in settled) || settled.tally === null) return;
    if (!decodes(this.#request.capability) || !settled.tally.hasContent) return;
    this.#context.lengths.observe(
      this.#request.model,
      settled.tally.outputTokens / choicesOf(this.#request),
      settled.kind !== "answered" || settled.tally.cut,
    );
  }

  /** Whatever came of it, an engine that wrote something has evaluated the prompt. */
  #keepPrefix({ engine, offer }: Candidate, settled: Settlement): void {
    if (this.#chain === null || !("tally" in settled)) return;
    if (settled.tally?.hasContent !== true) return;
    const { prefixes, keepAliveMs } = this.#context;
    const nowMs = this.clock.monotonic();
    prefixes.keep(placeOf(engine.key, offer.model), this.#chain, {
      answerTokens: settled.tally.outputTokens / choicesOf(this.#request),
      capacity: offer.cachedPrompts ?? offer.queue.slots,
      untilMs: nowMs + keepAliveMs,
    }, nowMs);
  }

  #record(
    { demand, placement, input }: Weighed,
    predictedMs: number | null = null,
  ): void {
    const inputs = keepInputs(input);
    const first = placement.kind === "placed" ? placement.first : null;
    this.#context.decisions.add({
      id: this.id,
      model: this.#request.model,
      source: formatSource(this.#request.source),
      policy: this.#context.policy,
      seed: this.#seed,
      promptTokens: demand.promptTokens,
      maxOutputTokens: this.#request.maxOutputTokens,
      expectedOutputTokens: demand.expected.medianTokens,
      chosen: first === null ? null : {
        node: first.engine.node,
        engine: first.engine.engine,
        model: first.offer.model,
      },
      predictedMs: predictedMs ?? first?.estimate.estimateMs ?? null,
      predictedP80Ms: predictedMs ?? first?.estimate.p80Ms ?? null,
      candidates: placement.candidates,
      ...(placement.unlisted > 0 ? { unlisted: placement.unlisted } : {}),
      attempts: [],
      actual: null,
      ...(inputs === null ? {} : { inputs }),
    });
  }

  #measure(totalMs: number, tally: AnswerTally): void {
    if (this.#last === null) return;
    const { candidate, sentAtMs, isForecast } = this.#last;
    const { estimateMs, p80Ms, ttftMs, tpotMs, terms, factor } =
      candidate.estimate;
    // What failed before this attempt was nobody's prediction.
    const beforeMs = sentAtMs - this.#arrivedAtMs;
    // How several answers share the slots is guessed: that teaches nothing.
    const choices = choicesOf(this.#request);
    const isAlone = choices === 1;
    const repricedMs = isAlone
      ? estimateMs + tpotMs * tally.outputTokens - terms.decodeMs * factor
      : estimateMs;
    if (isAlone && terms.queueMs * factor <= MOST_WAITING * repricedMs) {
      const { engine, offer, correction } = candidate;
      this.#context.corrections.observe(
        placeOf(engine.key, offer.model),
        repricedMs / correction,
        totalMs - beforeMs,
        this.clock.monotonic(),
      );
    }
    const forecastP80Ms = isForecast && isAlone ? beforeMs + p80Ms : null;
    if (forecastP80Ms !== null) {
      this.#context.lengths.stretch.observe(totalMs <= forecastP80Ms);
    }
    this.#context.metrics.answer({
      servedBy: candidate.engine.node === this.#context.self ? "self" : "peer",
      ttftMs: this.#ttftMs,
      totalMs,
      outputTokens: tally.outputTokens / choices,
      predictedTtftMs: beforeMs + ttftMs,
      predictedTotalMs: beforeMs + repricedMs,
      forecastP80Ms,
    });
  }

  #elapsedMs(): number {
    return this.clock.monotonic() - this.#arrivedAtMs;
  }
}

function offersModel(engine: Engine, model: string): boolean {
  return engine.view().offers.some((offer) => offer.model === model);
}

/** Where an attempt went, with the processes that stand there now. */
function placeNow({ candidate, engine }: Sent): EnginePlace {
  const { key, node } = candidate.engine;
  return { key, node, process: (model) => processIn(engine.view(), model) };
}

/** One that was sent before its process had a name met the one that stands now, or one that is gone already. */
function metBy({ candidate: { offer }, engine }: Sent): Met {
  const { model } = offer;
  const process = offer.process ?? processIn(engine.view(), model);
  return { model, process: process ?? NO_PROCESS };
}

/** For the log alone, which never leaves this machine. */
function causeOf(fault: Fault): string | null {
  return fault.cause instanceof Error ? fault.cause.message : null;
}
