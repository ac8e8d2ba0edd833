import { createChance } from "./chance.ts";
import { DEVICE, keyOf, SimulatedEntry } from "./entry.ts";
import type { RequestMoves } from "../../src/router/request_moves.ts";
import { waitingAttempt } from "./flight_moves.ts";
import type { Choice, Predicted, RoutingRule } from "./policies/policy.ts";
import type { Scenario, Throttle } from "./scenario.ts";
import {
  type NodeReport,
  type NodeTicket,
  SimulatedNode,
} from "./simulated_node.ts";
import { VirtualClock } from "./virtual_clock.ts";
import { drawJobs, type Job } from "./workload.ts";

/** What became of one request. */
export interface JobRecord {
  readonly job: Job;
  /** Index of the node that served it. */
  readonly node: number;
  readonly arrivedAtMs: number;
  readonly firstAtMs: number;
  readonly doneAtMs: number;
  /** From arrival to the last prediction, which its waits before are no part of. */
  readonly predictedAtMs: number;
  readonly predicted: Predicted | null;
  readonly moves: number;
  readonly failures: number;
}

/** What became of a run. */
export interface RunRecord {
  readonly jobs: readonly JobRecord[];
  readonly endedAtMs: number;
  /** Per node: slot-milliseconds at work, loads of models. */
  readonly busyMs: readonly number[];
  readonly loads: readonly number[];
  /** Requests that never ended: the rule diverged and the run was given up. */
  readonly lost: number;
}

/** More requests than this under way at once: the rule diverges, and the run is given up. */
const MOST_UNDER_WAY = 300;

/**
 * Play a scenario with a rule.
 *
 * @param scenario The world.
 * @param rule Who decides.
 * @param seed Same seed, same requests for every rule.
 */
export async function simulate(
  scenario: Scenario,
  rule: RoutingRule,
  seed: number,
): Promise<RunRecord> {
  return await new Simulation(scenario, rule, seed).run();
}

interface Flight {
  readonly job: Job;
  readonly entry: SimulatedEntry;
  readonly arrivedAtMs: number;
  readonly tried: Set<number>;
  /** The router's own, or null where the rule moves nothing. */
  readonly moves: RequestMoves | null;
  readonly done: () => void;
  failures: number;
  moved: number;
}

/** One try at one node. */
interface Try {
  readonly flight: Flight;
  readonly choice: Choice;
  readonly node: SimulatedNode;
  readonly dispatch: number;
  readonly sentAtMs: number;
  readonly oneWayMs: number;
  firstAtMs: number;
  watch: Disposable | null;
}

class Simulation {
  readonly #scenario: Scenario;
  readonly #clock = new VirtualClock();
  readonly #nodes: readonly SimulatedNode[];
  readonly #entries: readonly SimulatedEntry[];
  readonly #chooser: ReturnType<RoutingRule["create"]>;
  readonly #jobs: readonly Job[];
  readonly #polls = createChance(7, "polls");
  readonly #records: JobRecord[] = [];
  readonly #mostUnderWay: number;
  readonly #counts: boolean;
  #arrived = 0;
  #next = 0;

  constructor(scenario: Scenario, rule: RoutingRule, seed: number) {
    this.#scenario = scenario;
    const priors = createChance(seed, "priors");
    this.#nodes = scenario.nodes.map((spec, index) =>
      new SimulatedNode({
        index,
        spec,
        clock: this.#clock,
        discipline: rule.discipline,
        priorError: scenario.priorError,
        chance: priors,
        models: scenario.models.map(({ name }) => name),
      })
    );
    const callable = this.#nodes.filter(({ spec }) => spec.isEntry);
    const entries = callable.length > 0 ? callable : this.#nodes.slice(0, 1);
    this.#entries = entries.map((node) =>
      new SimulatedEntry(node, this.#nodes, {
        clock: this.#clock,
        hopMs: scenario.hopMs,
      })
    );
    this.#counts = rule.discipline === "first_come";
    const ties = createChance(seed, "ties");
    this.#chooser = rule.create({
      nodes: scenario.nodes.length,
      policy: scenario.policy,
      learnsLengths: scenario.learnsLengths,
      uniform: () => ties.uniform(),
    });
    this.#jobs = drawJobs(scenario, seed);
    const slots = scenario.nodes.reduce((sum, one) => sum + one.slots, 0);
    this.#mostUnderWay = Math.max(MOST_UNDER_WAY, 4 * slots);
  }

  async run(): Promise<RunRecord> {
    this.#startPolls();
    this.#nodes.forEach((node) => {
      if (node.spec.throttle !== null) this.#heat(node, node.spec.throttle);
    });
    this.#startArrivals();
    await this.#clock.run();
    return {
      jobs: this.#records,
      endedAtMs: this.#clock.monotonic(),
      busyMs: this.#nodes.map((node) => {
        node.settle();
        return node.busyMs;
      }),
      loads: this.#nodes.map(({ loads }) => loads),
      lost: this.#jobs.length - this.#records.length,
    };
  }

  #startPolls(): void {
    const { pollMs } = this.#scenario;
    for (const entry of this.#entries) {
      this.#nodes.forEach((node, index) => {
        if (node === entry.node) return;
        this.#clock.after(this.#polls.uniform() * pollMs, () => {
          entry.hear(index, node.report());
          this.#clock.every(pollMs, () => entry.hear(index, node.report()));
        });
      });
    }
  }

  #heat(node: SimulatedNode, throttle: Throttle): void {
    const set = (factor: number) => () => node.setSpeed(factor);
    const period = () => {
      this.#clock.after(throttle.fromMs, set(throttle.factor));
      this.#clock.after(throttle.untilMs, set(1));
    };
    period();
    this.#clock.every(throttle.periodMs, period);
  }

  #startArrivals(): void {
    const { arrivals } = this.#scenario;
    switch (arrivals.kind) {
      case "open":
      case "bursts":
      case "batch":
        for (const job of this.#jobs) {
          this.#clock.after(job.atMs, () => this.#arrive(job, () => {}));
        }
        return;
      case "closed":
        for (let client = 0; client < arrivals.clients; client++) {
          this.#clock.after(client, () => this.#ask(1, 0));
        }
        return;
      case "conversations":
        for (let client = 0; client < arrivals.clients; client++) {
          this.#clock.after(
            client,
            () => this.#ask(arrivals.turns, arrivals.pauseMs),
          );
        }
        return;
      default: {
        const never: never = arrivals;
        return never;
      }
    }
  }

  /** A client that takes the next jobs, `turns` at a time, one after the other. */
  #ask(turns: number, pauseMs: number): void {
    const first = this.#next;
    this.#next += turns;
    const pauses = createChance(first, "pauses");
    const turn = (n: number) => {
      const job = this.#jobs[first + n];
      if (job === undefined) return;
      this.#arrive(job, () => {
        const again = () =>
          n + 1 < turns ? turn(n + 1) : this.#ask(turns, pauseMs);
        if (pauseMs > 0) this.#clock.after(pauses.exponential(pauseMs), again);
        else again();
      });
    };
    turn(0);
  }

  #arrive(job: Job, done: () => void): void {
    const entry = this.#entries[job.entry % this.#entries.length];
    if (entry === undefined) return;
    this.#arrived++;
    const underWay = this.#arrived - this.#records.length;
    if (underWay > this.#mostUnderWay) this.#clock.stop();
    const tried = new Set<number>();
    const weigh = this.#chooser.weigh;
    this.#send({
      job,
      entry,
      arrivedAtMs: this.#clock.monotonic(),
      tried,
      moves: weigh === undefined
        ? null
        : entry.moves.of(() => weigh(entry, job, tried)),
      done,
      failures: 0,
      moved: 0,
    });
  }

  #send(flight: Flight): void {
    const { entry, job, tried } = flight;
    const target = flight.moves?.takeTarget() ?? null;
    const choice = this.#chooser.choose(entry, job, tried, target);
    if (choice === null) {
      // Nobody could: the client tries again.
      tried.clear();
      this.#clock.after(1000, () => this.#send(flight));
      return;
    }
    const node = this.#nodes[choice.index];
    if (node === undefined) return;
    const one: Try = {
      flight,
      choice,
      node,
      dispatch: entry.ledger.open(
        node.id,
        DEVICE,
        choice.expectedMs,
        job.model,
      ),
      sentAtMs: this.#clock.monotonic(),
      oneWayMs: node === entry.node ? 0 : this.#scenario.hopMs / 2,
      firstAtMs: 0,
      watch: null,
    };
    this.#later(one.oneWayMs, () => this.#reach(one));
  }

  #reach(one: Try): void {
    const { flight, node, oneWayMs } = one;
    if (this.#fails(node)) {
      this.#later(oneWayMs, () => this.#failed(one));
      return;
    }
    const ticket = node.take({
      job: flight.job,
      entry: flight.entry.node.id,
      dispatch: one.dispatch,
      cachedTokens: one.choice.cachedTokens,
      firstToken: () => {
        one.firstAtMs = this.#clock.monotonic() + oneWayMs;
        one.watch?.[Symbol.dispose]();
      },
      finished: () => this.#later(oneWayMs, () => this.#finished(one)),
    });
    // `accepted` brings the queue as it is now.
    const report = node.report();
    this.#later(oneWayMs, () => {
      if (node !== flight.entry.node) {
        flight.entry.hear(one.choice.index, report);
      }
      this.#watch(one, ticket, report);
    });
  }

  #watch(one: Try, ticket: NodeTicket, report: NodeReport): void {
    const { flight, node, dispatch, oneWayMs } = one;
    const offer = report.offers.find(({ model }) => model === flight.job.model);
    if (flight.moves === null || offer === undefined) return;
    one.watch = flight.moves.watch(
      waitingAttempt({
        job: flight.job,
        key: keyOf(node),
        entry: flight.entry.node.id,
        dispatch,
        queue: offer.queue,
        withdraw: () =>
          new Promise((resolve) =>
            this.#later(oneWayMs, () => {
              const isBack = ticket.withdraw();
              this.#later(oneWayMs, () => {
                resolve(isBack);
                this.#clock.settle();
              });
            })
          ),
      }),
      () => {
        flight.entry.ledger.close(node.id, dispatch);
        flight.moved++;
        flight.entry.moves.ring();
        this.#send(flight);
      },
    );
    // It looks at once, and may have asked a local queue already.
    this.#clock.settle();
  }

  #failed({ flight, node, choice, dispatch }: Try): void {
    flight.entry.ledger.close(node.id, dispatch);
    this.#settle(flight.entry, node, "error");
    flight.tried.add(choice.index);
    flight.failures++;
    this.#send(flight);
  }

  #finished(one: Try): void {
    const { flight, node, choice, dispatch } = one;
    const { entry, job } = flight;
    entry.ledger.close(node.id, dispatch);
    this.#settle(entry, node, "success");
    entry.keepPrefix(node, job);
    // Whoever counts connections knows at once that one is closed.
    if (this.#counts && node !== entry.node) {
      entry.hear(choice.index, node.report());
    }
    entry.lengths.observe(job.model, job.outputTokens, false);
    const p80Ms = choice.predicted?.p80Ms ?? null;
    if (p80Ms !== null) {
      const tookMs = this.#clock.monotonic() - one.sentAtMs;
      entry.lengths.stretch.observe(tookMs <= p80Ms);
    }
    entry.moves.ring();
    this.#records.push({
      job,
      node: choice.index,
      arrivedAtMs: flight.arrivedAtMs,
      firstAtMs: one.firstAtMs,
      doneAtMs: this.#clock.monotonic(),
      predictedAtMs: one.sentAtMs,
      predicted: choice.predicted,
      moves: flight.moved,
      failures: flight.failures,
    });
    if (this.#records.length === this.#jobs.length) this.#clock.stop();
    flight.done();
  }

  #fails({ spec }: SimulatedNode): boolean {
    return spec.failsFromMs !== null &&
      this.#clock.monotonic() >= spec.failsFromMs;
  }

  #settle(
    entry: SimulatedEntry,
    node: SimulatedNode,
    outcome: "success" | "error",
  ): void {
    const place = { key: keyOf(node), node: node.id };
    const nowMs = this.#clock.monotonic();
    const pass = entry.standings.pass(place, nowMs);
    entry.standings.settle(place, pass, {
      engine: outcome,
      member: outcome === "success" ? "success" : "neutral",
    }, nowMs);
  }

  #later(ms: number, call: () => void): void {
    if (ms <= 0) call();
    else this.#clock.after(ms, call);
  }
}
