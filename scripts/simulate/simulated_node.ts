/**
 * A node in virtual time: its engines and what stands in front of them.
 *
 * @module
 */
import { type NodeId, type Offer, parseNodeId } from "../../src/domain/mod.ts";
import { DeviceQueue, type QueuePlace } from "../../src/router/device_queue.ts";
import { serviceMs, type Work } from "../../src/router/estimate.ts";
import { ModelRates } from "../../src/router/model_rates.ts";
import {
  type RunningAnswer,
  RunningSamples,
} from "../../src/router/running_samples.ts";
import { SeenDispatches } from "../../src/router/seen_dispatches.ts";
import type { Chance } from "./chance.ts";
import { LoadFigures } from "./load_figures.ts";
import { PrefixCache } from "./prefix_cache.ts";
import {
  DECODE_PER_SECOND,
  type NodeSpec,
  PREFILL_PER_SECOND,
} from "./scenario.ts";
import { SimulatedModels } from "./simulated_models.ts";
import type { VirtualClock } from "./virtual_clock.ts";
import type { Job } from "./workload.ts";

/** An attempt at a node, told how it goes. */
export interface NodeWork {
  readonly job: Job;
  /** The entry node and its number of this dispatch. */
  readonly entry: NodeId;
  readonly dispatch: number;
  /** What the entry believes to be cached here. */
  readonly cachedTokens: number;
  firstToken(): void;
  finished(): void;
}

/** A place at a node. */
export interface NodeTicket {
  /** Leave while waiting; false when it has started or is over. */
  withdraw(): boolean;
}

/** What a node says of itself. */
export interface NodeReport {
  readonly atMs: number;
  readonly offers: readonly Offer[];
  readonly seen: Readonly<Record<NodeId, number>>;
  readonly running: number;
  readonly waiting: number;
  /** Work left here in milliseconds of one slot, as a router that counts tokens sees it. */
  readonly workMs: number;
  /** Share of the last seconds with work, smoothed. */
  readonly busy: number;
  /** 75th percentile of what the last answers took. */
  readonly p75Ms: number;
  readonly warm: ReadonlySet<string>;
}

/** In which order a node starts what waits. */
export type Discipline = "covey" | "first_come";

interface Run {
  readonly work: NodeWork;
  readonly offer: Offer;
  readonly promptTokens: number;
  readonly startedAtMs: number;
  /** Work left per phase in milliseconds of this node, alone and at full speed. */
  readonly leftMs: [
    load: number,
    prefill: number,
    firstToken: number,
    others: number,
  ];
  readonly phaseEndedAtMs: number[];
}

interface Held {
  readonly work: NodeWork;
  place: QueuePlace | null;
  hasSlot: boolean;
  run: Run | null;
  sampling: Disposable | null;
  sampled: boolean;
  readonly expectedMs: number;
}

const PHASES = 4;
const EPSILON_MS = 1e-6;

/** A member with its device queue and learners (the router's own) and a played engine. */
export class SimulatedNode {
  readonly id: NodeId;
  readonly spec: NodeSpec;
  /** Slot-milliseconds in which it worked. */
  busyMs = 0;
  /** Models that it loaded. */
  get loads(): number {
    return this.#models.loads;
  }
  /** Told when a slot fell free that nobody waits for. */
  onFree: (() => void) | null = null;
  readonly #clock: VirtualClock;
  readonly #queue: DeviceQueue;
  readonly #discipline: Discipline;
  readonly #held = new Set<Held>();
  readonly #running = new Set<Held>();
  readonly #seen = new SeenDispatches();
  readonly #rates = new Map<string, ModelRates>();
  readonly #priorFactor: number;
  readonly #samples: RunningSamples;
  readonly #models: SimulatedModels;
  readonly #prefixes: PrefixCache;
  readonly #figures: LoadFigures;
  #speed = 1;
  #countedAtMs = 0;
  #wake: Disposable | null = null;

  constructor(options: {
    readonly index: number;
    readonly spec: NodeSpec;
    readonly clock: VirtualClock;
    readonly discipline: Discipline;
    readonly priorError: number;
    readonly chance: Chance;
    readonly models: readonly string[];
  }) {
    this.id = nodeIdOf(options.index);
    this.spec = options.spec;
    this.#clock = options.clock;
    this.#queue = new DeviceQueue(options.clock, () => this.onFree?.());
    this.#samples = new RunningSamples(options.clock);
    this.#discipline = options.discipline;
    this.#priorFactor = Math.exp(options.priorError * options.chance.normal());
    this.#prefixes = new PrefixCache(options.spec.prefixes);
    this.#models = new SimulatedModels(options);
    this.#figures = new LoadFigures(options.clock);
    for (const model of options.models) {
      this.#rates.set(model, new ModelRates());
    }
  }

  /** Count what has passed. */
  settle(): void {
    this.#progress();
  }

  /** Change its speed, as heat does. */
  setSpeed(factor: number): void {
    this.#progress();
    this.#speed = factor;
    this.#arm();
  }

  /** Take an attempt in. */
  take(work: NodeWork): NodeTicket {
    this.#seen.see(work.entry, work.dispatch);
    const offer = this.#offer(work.job.model);
    const expectedMs = serviceMs(
      workOf(work.job, work.job.meanTokens, work.cachedTokens),
      { ...offer, state: WARM },
      Math.min(this.#queue.running + 1, this.spec.slots),
    );
    const held: Held = {
      work,
      place: null,
      hasSlot: false,
      run: null,
      sampling: null,
      sampled: false,
      expectedMs,
    };
    this.#held.add(held);
    if (this.#learns) {
      this.#models.asked(work.job.model);
    }
    held.place = this.#queue.enter({
      client: work.job.conversation ?? "",
      model: work.job.model,
      slots: this.spec.slots,
      // Loads change the order in Covey's line alone.
      outlook: () => this.#learns ? this.#models.outlook(work.job.model) : null,
      // Equal work makes the queue first come, first served.
      expectedMs: this.#learns ? expectedMs : 1,
      onSlot: () => {
        held.hasSlot = true;
        if (held.place !== null) this.#start(held);
      },
    });
    if (held.hasSlot) this.#start(held);
    return {
      withdraw: () => {
        if (held.hasSlot) return false;
        this.#held.delete(held);
        held.place?.leave();
        return true;
      },
    };
  }

  /** What it would tell a peer now. */
  report(): NodeReport {
    return {
      atMs: this.#clock.monotonic(),
      offers: this.#learns ? this.offers() : NO_OFFERS,
      seen: this.#seen.snapshot(),
      running: this.#queue.running,
      waiting: this.#queue.waiting,
      workMs: this.#workMs(),
      busy: this.#busyShare(),
      p75Ms: this.#figures.p75Ms(),
      warm: this.#models.warm(),
    };
  }

  /** Its offers as they are now. */
  offers(): readonly Offer[] {
    return [...this.#rates.keys()].map((model) => this.#offer(model));
  }

  #offer(model: string): Offer {
    const { spec } = this;
    const nowMs = this.#clock.monotonic();
    const prior = {
      prefillTokensPerSecond: PREFILL_PER_SECOND * spec.speed *
        this.#priorFactor,
      tpotMs: Array.from(
        { length: spec.slots },
        (_, at) =>
          1000 / DECODE_PER_SECOND / spec.speed / this.#priorFactor *
          (1 + spec.batchSlowdown * at),
      ),
      loadTimeMs: spec.loadMs * this.#priorFactor,
      observations: 0,
      typicalError: 0.2,
      expectedOutputTokens: 256,
    };
    const after = this.#learns
      ? this.#queue.play().loadedAfter.get(model)
      : undefined;
    return {
      ...(after === undefined ? {} : { loadedAfterQueue: after }),
      model,
      root: null,
      capabilities: ["chat"],
      features: [],
      contextLength: 1_000_000,
      sizeBytes: null,
      state: this.#models.state(model),
      device: "device",
      queue: this.#queue.report(spec.slots),
      evicts: this.#models.evictedFor(model),
      cachedPrompts: Math.max(1, spec.prefixes),
      rates: this.#learns
        ? this.#rates.get(model)?.over(prior, nowMs) ?? prior
        : prior,
    };
  }

  #start(held: Held): void {
    const { job } = held.work;
    const { spec } = this;
    const nowMs = this.#clock.monotonic();
    this.#progress();
    const offer = this.#offer(job.model);
    if (this.#learns) {
      held.place?.expect(
        serviceMs(
          workOf(job, job.meanTokens, held.work.cachedTokens),
          offer,
          this.#queue.running,
        ),
      );
    }
    const inUse = new Set([...this.#running].map((one) => one.work.job.model));
    const loadMs = this.#models.load(job.model, job.noise, inUse);
    const promptTokens = job.promptTokens - this.#prefixes.use(job);
    const tokenMs = 1000 / DECODE_PER_SECOND / spec.speed * job.noise;
    held.run = {
      work: held.work,
      offer,
      promptTokens,
      startedAtMs: nowMs,
      leftMs: [
        loadMs,
        promptTokens / PREFILL_PER_SECOND / spec.speed * 1000 * job.noise,
        tokenMs,
        (job.outputTokens - 1) * tokenMs,
      ],
      phaseEndedAtMs: [],
    };
    this.#running.add(held);
    if (this.#learns) held.sampling = this.#sample(held, held.run, tokenMs);
    this.#arm();
  }

  /** Let the router's samples see an answer being written. */
  #sample(held: Held, run: Run, tokenMs: number): Disposable {
    const progress = () => {
      this.#progress();
      const [, , first, others] = run.leftMs;
      return run.work.job.outputTokens - (first + others) / tokenMs;
    };
    const clock = this.#clock;
    const answer: RunningAnswer = {
      meter: {
        get content() {
          return run.phaseEndedAtMs.length < 3 ? null : {
            firstMs: run.phaseEndedAtMs[2] ?? 0,
            lastMs: clock.monotonic(),
          };
        },
        tally: {
          get contentEvents() {
            return progress();
          },
        },
      },
      mark: null,
      concurrencyMs: () => held.place?.concurrencyMs ?? 0,
      seen: (sample) => {
        held.sampled = true;
        this.#rates.get(run.work.job.model)
          ?.observeRunning({
            ...sample,
            contextTokens: run.work.job.promptTokens + progress(),
          }, clock.monotonic());
      },
    };
    this.#samples.add(answer);
    return { [Symbol.dispose]: () => this.#samples.remove(answer) };
  }

  /** Speed of a phase: loading is bound by the disk, the rest is shared. */
  #pace(phase: number): number {
    if (phase === 0) return 1;
    const others = Math.max(0, this.#running.size - 1);
    return this.#speed / (1 + this.spec.batchSlowdown * others);
  }

  #progress(): void {
    const nowMs = this.#clock.monotonic();
    const passedMs = nowMs - this.#countedAtMs;
    this.#countedAtMs = nowMs;
    if (passedMs <= 0) return;
    this.busyMs += passedMs * this.#running.size / this.spec.slots;
    if (this.#running.size > 0) this.#figures.worked(passedMs);
    for (const { run } of this.#running) {
      if (run === null) continue;
      const phase = phaseOf(run);
      run.leftMs[phase] = (run.leftMs[phase] ?? 0) -
        passedMs * this.#pace(phase);
    }
  }

  #arm(): void {
    this.#wake?.[Symbol.dispose]();
    this.#wake = null;
    let nextMs = Infinity;
    for (const { run } of this.#running) {
      if (run === null) continue;
      const phase = phaseOf(run);
      nextMs = Math.min(nextMs, (run.leftMs[phase] ?? 0) / this.#pace(phase));
    }
    if (nextMs === Infinity) return;
    this.#wake = this.#clock.after(nextMs, () => this.#step());
  }

  #step(): void {
    this.#progress();
    const nowMs = this.#clock.monotonic();
    for (const held of [...this.#running]) {
      const { run } = held;
      if (run === null) continue;
      while (
        run.phaseEndedAtMs.length < PHASES &&
        (run.leftMs[phaseOf(run)] ?? 0) <= EPSILON_MS
      ) {
        run.phaseEndedAtMs.push(nowMs);
        if (run.phaseEndedAtMs.length === 3) run.work.firstToken();
      }
      if (run.phaseEndedAtMs.length === PHASES) this.#finish(held, run);
    }
    this.#arm();
  }

  #finish(held: Held, run: Run): void {
    const nowMs = this.#clock.monotonic();
    const { job } = run.work;
    const tookMs = nowMs - run.startedAtMs;
    if (this.#learns) this.#learn(held, run, nowMs);
    this.#prefixes.keep(job);
    this.#figures.answered(tookMs);
    this.#running.delete(held);
    held.sampling?.[Symbol.dispose]();
    this.#held.delete(held);
    held.place?.leave();
    run.work.finished();
  }

  #learn(held: Held, run: Run, nowMs: number): void {
    const { job } = run.work;
    const [loadedMs = nowMs, prefilledMs = nowMs] = run.phaseEndedAtMs;
    this.#rates.get(job.model)?.observe(
      {
        work: workOf(job, job.meanTokens, held.work.cachedTokens),
        concurrency: held.place?.meanConcurrency ?? 1,
        prefillMs: prefilledMs - loadedMs,
        uncachedShare: run.promptTokens / job.promptTokens,
        decodeMs: nowMs - prefilledMs,
        outputTokens: job.outputTokens,
        cut: false,
        loadTimeMs: run.offer.state.kind === "cold"
          ? loadedMs - run.startedAtMs
          : null,
        serviceMs: nowMs - run.startedAtMs,
        contentEvents: job.outputTokens,
        sampled: held.sampled,
      },
      run.offer,
      nowMs,
    );
  }

  /** Rules that count read no rates. */
  get #learns(): boolean {
    return this.#discipline === "covey";
  }

  #workMs(): number {
    if (this.#learns) return 0;
    const nowMs = this.#clock.monotonic();
    let sum = 0;
    for (const { run, expectedMs } of this.#held) {
      sum += run === null
        ? expectedMs
        : Math.max(0, expectedMs - (nowMs - run.startedAtMs));
    }
    return sum;
  }

  #busyShare(): number {
    this.#progress();
    return this.#figures.busyShare();
  }
}

const WARM = { kind: "warm", loadTimeMs: null } as const;
const NO_OFFERS: readonly Offer[] = [];

function phaseOf(run: Run): number {
  return Math.min(run.phaseEndedAtMs.length, PHASES - 1);
}

/** What a job asks of an estimate. */
export function workOf(
  job: Job,
  outputTokens: number,
  cachedTokens = 0,
): Work {
  const { promptTokens } = job;
  return { capability: "chat", promptTokens, outputTokens, cachedTokens };
}

function nodeIdOf(index: number): NodeId {
  const digits = index.toString(16).padStart(12, "0");
  const id = parseNodeId(`00000000-0000-4000-8000-${digits}`);
  if (id === undefined) throw new RangeError(`No node id for ${index}`);
  return id;
}
