import type {
  Attempt,
  InferenceRequest,
  Metrics,
  NodeId,
  QueueReport,
} from "../../src/domain/mod.ts";
import { attemptIdOf, parseDecisionId } from "../../src/domain/mod.ts";
import { DeviceQueues } from "../../src/router/device_queues.ts";
import { FreeSlotBell } from "../../src/router/free_slot_bell.ts";
import type { Placement } from "../../src/router/place.ts";
import { RequestMoves } from "../../src/router/request_moves.ts";
import { RouterMetrics } from "../../src/router/router_metrics.ts";
import type { VirtualClock } from "./virtual_clock.ts";
import type { Job } from "./workload.ts";

/** What an entry's waiting attempts share: the router's own bell, rung in virtual time. */
export class EntryMoves {
  readonly #clock: VirtualClock;
  readonly #bell = new FreeSlotBell();
  readonly #metrics: RouterMetrics;

  /** @param clock Time. */
  constructor(clock: VirtualClock) {
    this.#clock = clock;
    this.#metrics = new RouterMetrics(
      UNHEARD,
      new DeviceQueues(clock),
      () => 0,
      () => [],
    );
  }

  /** A slot may have fallen free. */
  ring(): void {
    this.#bell.ring();
    this.#clock.settle();
  }

  /** The moves of one request. */
  of(weigh: () => Placement): RequestMoves {
    return new RequestMoves({
      clock: this.#clock,
      bell: this.#bell,
      metrics: this.#metrics,
      weigh,
    });
  }
}

/** An attempt at a node that waits, as the router's moves want to see it. */
export interface WaitingFlight {
  readonly job: Job;
  readonly key: string;
  readonly entry: NodeId;
  readonly dispatch: number;
  readonly queue: QueueReport;
  withdraw(): Promise<boolean>;
}

/** Put a flight into the words of `RequestMoves.watch`. */
export function waitingAttempt(flight: WaitingFlight): Parameters<
  RequestMoves["watch"]
>[0] {
  return {
    key: flight.key,
    attempt: attemptOf(flight),
    accepted: {
      kind: "accepted",
      queue: flight.queue,
      answer: () => Promise.reject(new RangeError("Nobody reads it here")),
      withdraw: () => flight.withdraw(),
    },
  };
}

/** A job as the router's request. */
export function requestOf(job: Job): InferenceRequest {
  return {
    capability: "chat",
    model: job.model,
    source: { kind: "unsaid" },
    stream: true,
    includeUsage: false,
    body: {},
    promptTokens: job.promptTokens,
    maxOutputTokens: null,
    inputCount: 1,
    needs: [],
    conversation: job.conversation,
    client: job.conversation ?? "",
  };
}

function attemptOf({ job, entry, dispatch }: WaitingFlight): Attempt {
  const decision = parseDecisionId(String(job.n).padStart(8, "0"));
  if (decision === undefined) throw new RangeError(`No id for job ${job.n}`);
  return {
    id: attemptIdOf(decision, 1),
    entry,
    dispatch,
    request: requestOf(job),
    model: job.model,
    expectedOutputTokens: job.meanTokens,
    predictedMs: 0,
  };
}

const UNHEARD: Metrics = {
  counter: () => ({ add: () => {} }),
  gauge: () => {},
  histogram: () => ({ observe: () => {} }),
};
