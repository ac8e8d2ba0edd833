import {
  type Attempt,
  type Engine,
  type EngineAnswer,
  type EngineView,
  Fault,
  type InferenceRequest,
  type Log,
  type NodeId,
  type Offer,
  sourceOf,
  type StartResult,
} from "../../domain/mod.ts";
import type { Clock } from "../../platform/mod.ts";
import { dispatchHttp } from "../http_dispatch.ts";
import { readBoundedText } from "./bounded_json.ts";
import type { CatalogueModel } from "./catalogue.ts";
import { withContent } from "./empty_content.ts";
import { withMaxTokens } from "./output_bound.ts";
import { withoutFields } from "./refused_fields.ts";
import {
  availabilityOf,
  failedRefresh,
  nextRefreshMs,
  type RefreshStanding,
} from "./refresh_standing.ts";
import type { UpstreamHttp } from "./upstream_http.ts";
import { upstreamPrior } from "./upstream_prior.ts";
import type { UpstreamProfile } from "./upstream_profile.ts";

/** Where a server does not say what a model holds, it refuses by itself. */
const UNKNOWN_CONTEXT = 131_072;
const LEAST_OK = 200;
const LEAST_NOT_OK = 300;
const NOT_FOUND = 404;
/** Enough for any error that is worth reading. */
const MOST_ERROR_BYTES = 256 * 1024;

/** What an upstream engine is made of. */
export interface UpstreamEngineOptions {
  /** Name of the engine, unique on its node. */
  readonly id: string;
  readonly node: NodeId;
  readonly nodeName: string;
  /** The server. */
  readonly http: UpstreamHttp;
  /** What is particular to it; called once, when it is first asked. */
  profile(): Promise<UpstreamProfile>;
  /** Time between two looks at its models. */
  readonly refreshEveryMs: number;
  /** Time between two looks whether it can be reached at all; absent where looking at its models tells soon enough. */
  readonly reachEveryMs?: number;
  /** Put before the names of its models, for example `groq/`; none unless said. */
  readonly prefix?: string;
  /** Whether using it costs money: see `Offer.isPaid`. */
  readonly isPaid?: boolean;
  /** Whether peers may not use it. */
  readonly isPrivate?: boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** An engine in front of a server that others run. */
export interface UpstreamEngine extends Engine, AsyncDisposable {
  /** Look at the server's models now; resolves when that is over, however it went. */
  refresh(): Promise<void>;
}

/**
 * Make an engine of a server that runs already. It is asked again and again
 * what models it has; nothing is loaded, unloaded or changed there but by the
 * requests themselves.
 *
 * @param options The server and its profile.
 * @returns The engine. Disposing of it breaks off what runs.
 */
export function createUpstreamEngine(
  options: UpstreamEngineOptions,
): UpstreamEngine {
  return new HttpUpstream(options);
}

class HttpUpstream implements UpstreamEngine {
  readonly node: NodeId;
  readonly nodeName: string;
  readonly id: string;
  readonly isPrivate: boolean;
  readonly #options: UpstreamEngineOptions;
  readonly #closing = new AbortController();
  readonly #watching: Promise<void>;
  #profile: UpstreamProfile | null = null;
  #refreshing: Promise<void> | null = null;
  #standing: RefreshStanding = { state: "unseen" };
  #offers: readonly Offer[] = [];

  constructor(options: UpstreamEngineOptions) {
    this.#options = options;
    this.node = options.node;
    this.nodeName = options.nodeName;
    this.id = options.id;
    this.isPrivate = options.isPrivate === true;
    this.#watching = this.#watch();
  }

  /** Whether its server unloads a model when it is asked to. */
  get canUnload(): boolean {
    return this.#profile?.heeding !== undefined;
  }

  view(): EngineView {
    const availability = this.#closing.signal.aborted
      ? { kind: "unavailable", reason: "The node is shutting down" } as const
      : availabilityOf(this.id, this.#standing);
    return {
      availability,
      hop: { medianMs: 0, jitterMs: 0 },
      offers: availability.kind === "unavailable" ? [] : this.#offers,
      dispatchesSeen: Infinity,
    };
  }

  // deno-lint-ignore require-await
  async start(attempt: Attempt, signal: AbortSignal): Promise<StartResult> {
    const offer = this.#offers.find(({ model }) => model === attempt.model);
    if (this.#closing.signal.aborted || offer === undefined) {
      return {
        kind: "refused",
        reason: offer === undefined ? "model_not_here" : "draining",
        message: offer === undefined
          ? `"${this.id}" does not have the model "${attempt.model}"`
          : "The node is shutting down",
        retryAfterMs: null,
      };
    }
    signal.throwIfAborted();
    return {
      kind: "accepted",
      queue: offer.queue,
      answer: () => this.#answer(attempt, signal),
    };
  }

  refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = null;
    });
    return this.#refreshing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(
      new Fault("shutting_down", "This node is shutting down"),
    );
    await this.#watching;
    await this.#refreshing;
  }

  async #answer(attempt: Attempt, signal: AbortSignal): Promise<EngineAnswer> {
    const { http, prefix = "" } = this.#options;
    const model = attempt.model.slice(prefix.length);
    const request = this.#inItsWords(attempt.request);
    const { upkeep } = request;
    const isHeeded = upkeep !== undefined ||
      this.#profile?.passesOver?.(request.body) === true;
    const client = isHeeded
      ? this.#profile?.heeding?.(http, upkeep ?? {}) ?? http
      : http;
    const answer = await dispatchHttp(
      { client, headers: {}, died: this.#closing.signal },
      { ...attempt, model, request },
      signal,
      () => {},
    );
    if (answer.status === NOT_FOUND) {
      return await this.#askedInVain(answer, attempt);
    }
    const isFine = answer.status >= LEAST_OK && answer.status < LEAST_NOT_OK;
    if (upkeep?.only === "unload") await this.refresh();
    else if (isFine) this.#noteLoaded(attempt.model);
    return answer;
  }

  /** A model that went since the last look may be elsewhere; a route that is not there is told of as it is. */
  async #askedInVain(
    { body, contentType, retryAfter, status }: EngineAnswer,
    { model }: Attempt,
  ): Promise<EngineAnswer> {
    const text = await readBoundedText(sourceOf(body), MOST_ERROR_BYTES) ?? "";
    if (!/\bmodel/i.test(text)) {
      const again = new Blob([text]).stream();
      return { status, contentType, retryAfter, body: again };
    }
    this.refresh();
    throw new Fault(
      "model_not_found",
      `"${this.id}" says that it does not have the model "${model}"`,
      { origin: "engine" },
    );
  }

  #inItsWords(request: InferenceRequest): InferenceRequest {
    const { emptyContent, onlyMaxTokens, refusedFields = [] } = this.#profile ??
      {};
    const known = withoutFields(request, refusedFields);
    const bounded = onlyMaxTokens === true ? withMaxTokens(known) : known;
    return emptyContent === undefined
      ? bounded
      : withContent(bounded, emptyContent);
  }

  /** Whoever answers has loaded its model, before the next look shows it. */
  #noteLoaded(model: string): void {
    this.#offers = this.#offers.map((offer) =>
      offer.model === model && offer.state.kind === "cold"
        ? { ...offer, state: { kind: "warm", loadTimeMs: null } }
        : offer
    );
  }

  async #watch(): Promise<void> {
    const { clock, http, reachEveryMs = Infinity, refreshEveryMs } =
      this.#options;
    const { signal } = this.#closing;
    const closed = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => closed.resolve(), { once: true });
    while (!signal.aborted) {
      await this.refresh();
      if (signal.aborted) return;
      let leftMs = nextRefreshMs(this.#standing, refreshEveryMs);
      while (leftMs > 0 && !signal.aborted) {
        const restMs = Math.min(leftMs, reachEveryMs);
        leftMs -= restMs;
        const due = Promise.withResolvers<void>();
        using _timer = clock.after(restMs, () => due.resolve());
        await Promise.race([due.promise, closed.promise]);
        if (leftMs <= 0 || signal.aborted) break;
        // Looked at in full at once, and by that rule soon out of use.
        if (!await http.isReachable(signal)) break;
      }
    }
  }

  async #refresh(): Promise<void> {
    const { http, log, id } = this.#options;
    const { signal } = this.#closing;
    const before = this.#standing;
    try {
      this.#profile ??= await this.#options.profile();
      const answer = await this.#profile.list(http, signal);
      if (answer.kind === "other") {
        this.#standing = failedRefresh(before, answer.reason);
      } else {
        const { models } = answer.catalogue;
        const slots = answer.catalogue.slots ?? this.#profile.slots;
        this.#offers = models.filter(({ capabilities }) =>
          capabilities.length > 0
        ).map((model) => this.#offer(model, slots));
        this.#standing = { state: "seen" };
      }
    } catch (error) {
      if (signal.aborted) return;
      log.debug("An upstream engine could not be asked", {
        engine: id,
        reason: error instanceof Error ? error.name : "unknown",
      });
      this.#standing = failedRefresh(before, "can not be reached");
    }
    this.#tell(before);
  }

  /** Say once what changed. */
  #tell(before: RefreshStanding): void {
    const { id, log } = this.#options;
    const was = availabilityOf(id, before);
    const now = availabilityOf(id, this.#standing);
    if (now.kind === "available" && was.kind !== "available") {
      log.info("An upstream engine is there", {
        engine: id,
        models: this.#offers.length,
      });
    }
    if (now.kind === "unavailable" && this.#standing.state === "failing") {
      const isNew = before.state !== "failing" ||
        before.reason !== this.#standing.reason || was.kind !== "unavailable";
      if (isNew) {
        log.warn("An upstream engine can not be used", {
          engine: id,
          reason: now.reason,
        });
      }
    }
  }

  #offer(model: CatalogueModel, slots: number): Offer {
    const { id, isPaid = false, prefix = "" } = this.#options;
    return {
      model: prefix + model.name,
      root: null,
      capabilities: model.capabilities,
      features: model.features,
      contextLength: model.contextLength ?? UNKNOWN_CONTEXT,
      ...((model.contextLimit ?? 0) > (model.contextLength ?? UNKNOWN_CONTEXT)
        ? { contextLimit: model.contextLimit ?? 0 }
        : {}),
      sizeBytes: model.sizeBytes,
      state: model.isLoaded
        ? { kind: "warm", loadTimeMs: null }
        : { kind: "cold" },
      device: `upstream ${id}`,
      queue: { slots, runningMs: [], waitingMs: [] },
      rates: upstreamPrior(model.sizeBytes, slots),
      ...(isPaid ? { isPaid } : {}),
    };
  }
}
