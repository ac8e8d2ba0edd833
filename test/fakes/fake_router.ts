import {
  type DecisionId,
  type DecisionRecord,
  Fault,
  type InferenceRequest,
  type ModelListing,
  type NodeId,
  type NodeStanding,
  type PlacedOffer,
  type RoutedAnswer,
  type Router,
  type Source,
  type UnloadOutcome,
} from "../../src/domain/mod.ts";

/** What a fake router answers a request with; each field has a plain default. */
export interface FakeAnswer {
  readonly status?: number;
  readonly contentType?: string;
  readonly retryAfter?: string | null;
  /** The served model's name, the asked one unless said. */
  readonly model?: string;
  readonly predictedMs?: number;
  readonly predictedP80Ms?: number;
  readonly body: string | ReadableStream<Uint8Array>;
}

/** A router that records what it is asked and answers as told. */
export class FakeRouter implements Router {
  /** Requests of `route`, in order. */
  readonly requests: InferenceRequest[] = [];
  /** Their signals. */
  readonly signals: AbortSignal[] = [];
  listings: readonly ModelListing[] = [];
  readonly decisions = new Map<string, DecisionRecord>();
  readonly #node: NodeId;
  /** What the next requests get; throw to fail. */
  answer: (
    request: InferenceRequest,
    signal: AbortSignal,
  ) => FakeAnswer | Promise<FakeAnswer> = () => {
    throw new Fault("no_candidate", "No engine here serves this");
  };

  /**
   * @param node The node that seems to serve.
   */
  constructor(node: NodeId) {
    this.#node = node;
  }

  async route(
    request: InferenceRequest,
    signal: AbortSignal,
  ): Promise<RoutedAnswer> {
    this.requests.push(request);
    this.signals.push(signal);
    const answer = await this.answer(request, signal);
    return {
      decision: `decision-${this.requests.length}` as DecisionId,
      node: this.#node,
      model: answer.model ?? request.model,
      predictedMs: answer.predictedMs ?? 12.4,
      ...(answer.predictedP80Ms === undefined
        ? {}
        : { predictedP80Ms: answer.predictedP80Ms }),
      status: answer.status ?? 200,
      contentType: answer.contentType ?? "application/json",
      retryAfter: answer.retryAfter ?? null,
      body: typeof answer.body === "string"
        ? new Blob([answer.body]).stream()
        : answer.body,
    };
  }

  serve(): never {
    throw new Error("The API never serves a peer's attempt");
  }

  models(): readonly ModelListing[] {
    return this.listings;
  }

  placed: readonly PlacedOffer[] = [];
  /** What it was asked to let go of, in order. */
  readonly unloads: {
    readonly model: string;
    readonly source: Source;
    readonly evenPinned: boolean;
  }[] = [];
  outcomes: readonly UnloadOutcome[] = [];

  offers(model?: string): readonly PlacedOffer[] {
    return this.placed.filter(({ offer }) =>
      model === undefined || offer.model === model
    );
  }

  unload(
    model: string,
    order: { readonly source: Source; readonly evenPinned: boolean },
  ): Promise<readonly UnloadOutcome[]> {
    this.unloads.push({ model, ...order });
    return Promise.resolve(this.outcomes);
  }

  standings: readonly NodeStanding[] = [];
  draining = false;

  standing(): readonly NodeStanding[] {
    return this.standings;
  }

  drain(draining: boolean): void {
    this.draining = draining;
  }

  isDraining(): boolean {
    return this.draining;
  }

  report(): never {
    throw new Error("The API never reports to a peer");
  }

  decision(id: DecisionId): DecisionRecord | undefined {
    return this.decisions.get(id);
  }

  latestDecisions(limit: number): readonly DecisionRecord[] {
    return [...this.decisions.values()].slice(-limit).reverse();
  }
}
