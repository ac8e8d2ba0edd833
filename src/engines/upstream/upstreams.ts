import type { Engine, Log, NodeId } from "../../domain/mod.ts";
import type { Clock } from "../../platform/mod.ts";
import {
  createUpstreamEngine,
  type UpstreamEngine,
} from "./upstream_engine.ts";
import {
  type Fetch,
  UpstreamHttp,
  type UpstreamHttpOptions,
} from "./upstream_http.ts";
import {
  type NamedCapabilities,
  withCapabilities,
} from "./named_capabilities.ts";
import type { UpstreamKind } from "./upstream_profile.ts";
import { parseUpstreamUrl } from "./upstream_url.ts";

/** Usual ports of Ollama, LM Studio, llama-server and vLLM. */
const USUAL_PORTS: readonly number[] = [11434, 1234, 8080, 8000];
const LOOK_EVERY_MS = 30_000;
const REFRESH_EVERY_MS = 10_000;

/** A server that an operator named. */
export interface NamedUpstream {
  readonly name: string;
  readonly kind: UpstreamKind;
  /** An http or https URL, with or without `/v1`. */
  readonly url: string;
}

/** What upstream engines are made of. */
export interface UpstreamsOptions {
  /** Servers to use, or null to look for them on this machine. */
  readonly named: readonly NamedUpstream[] | null;
  /** What models do, whatever their servers say; absent for nothing. */
  readonly capabilities?: readonly NamedCapabilities[];
  /** Ports of this node itself, which are not looked at. */
  readonly ownPorts: readonly number[];
  /** Names of this node's other engines. */
  readonly takenIds: readonly string[];
  /** Ports to look at; the usual ones unless a test says otherwise. */
  readonly ports?: readonly number[];
  readonly node: NodeId;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly fetch: Fetch;
  /** The cheap way to an origin: see `UpstreamHttpOptions`. */
  readonly plain?: UpstreamHttpOptions["plain"];
}

/** The engines of servers that run already. */
export interface Upstreams extends AsyncDisposable {
  /** Those that are known now; one that was found stays while it is away. */
  engines(): readonly Engine[];
  /** Look for servers, and at those that are known, now. */
  look(): Promise<void>;
}

/**
 * Use the servers that an operator named, or look for them at the usual ports
 * of the loopback interface, again every 30 seconds. Nothing is changed there.
 *
 * @param options Names or ports, and ports of the platform.
 * @returns The engines. Disposing of it ends the search and them.
 */
export function createUpstreams(options: UpstreamsOptions): Upstreams {
  return options.named === null
    ? new FoundUpstreams(options)
    : new NamedUpstreams(options, options.named);
}

class NamedUpstreams implements Upstreams {
  readonly #engines: readonly UpstreamEngine[];

  constructor(options: UpstreamsOptions, named: readonly NamedUpstream[]) {
    this.#engines = named.map(({ name, kind, url }) =>
      engineAt(options, url, kind, name)
    );
  }

  engines(): readonly Engine[] {
    return this.#engines;
  }

  async look(): Promise<void> {
    await Promise.all(this.#engines.map((engine) => engine.refresh()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      this.#engines.map((engine) => engine[Symbol.asyncDispose]()),
    );
  }
}

interface Found {
  readonly kind: UpstreamKind;
  readonly engine: UpstreamEngine;
}

class FoundUpstreams implements Upstreams {
  readonly #options: UpstreamsOptions;
  readonly #ports: readonly number[];
  readonly #found = new Map<number, Found>();
  readonly #closing = new AbortController();
  readonly #timer: Disposable;
  #engines: readonly Engine[] = [];
  #looking: Promise<void> | null = null;

  constructor(options: UpstreamsOptions) {
    this.#options = options;
    this.#ports = (options.ports ?? USUAL_PORTS).filter((port) =>
      !options.ownPorts.includes(port)
    );
    this.#timer = options.clock.every(LOOK_EVERY_MS, () => this.look());
    this.look();
  }

  engines(): readonly Engine[] {
    return this.#engines;
  }

  look(): Promise<void> {
    this.#looking ??= this.#lookAtAll().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer[Symbol.dispose]();
    this.#closing.abort();
    // A look may wait for an engine, and may have just found another one.
    await this.#endEngines();
    await this.#looking;
    await this.#endEngines();
  }

  async #endEngines(): Promise<void> {
    await Promise.all(
      [...this.#found.values()].map(({ engine }) =>
        engine[Symbol.asyncDispose]()
      ),
    );
  }

  async #lookAtAll(): Promise<void> {
    await Promise.all(this.#ports.map((port) => this.#lookAt(port)));
  }

  async #lookAt(port: number): Promise<void> {
    const found = this.#found.get(port);
    const isAway = found?.engine.view().availability.kind !== "available";
    if (!isAway) return;
    const url = `http://127.0.0.1:${port}`;
    const kind = await this.#recognise(url);
    if (kind === null || this.#closing.signal.aborted) return;
    if (found?.kind === kind) return await found.engine.refresh();
    await found?.engine[Symbol.asyncDispose]();
    const engine = engineAt(this.#options, url, kind, this.#idFor(kind, port));
    this.#found.set(port, { kind, engine });
    this.#engines = this.#ports.flatMap((one) =>
      this.#found.get(one)?.engine ?? []
    );
    await engine.refresh();
  }

  async #recognise(url: string): Promise<UpstreamKind | null> {
    const { clock, fetch, log } = this.#options;
    const { signal } = this.#closing;
    const http = new UpstreamHttp({ url: parseUpstreamUrl(url), clock, fetch });
    try {
      // Most ports are closed: the schemas are loaded where one is open.
      await http.probe("/", signal);
      const { recognise } = await import("./recognise.ts");
      return await recognise(http, signal);
    } catch (error) {
      log.debug("No upstream engine found", {
        url,
        reason: error instanceof Error ? error.name : "unknown",
      });
      return null;
    }
  }

  #idFor(kind: UpstreamKind, port: number): string {
    const isTaken = this.#options.takenIds.includes(kind) ||
      [...this.#found].some(([other, one]) =>
        other !== port && one.engine.id === kind
      );
    return isTaken ? `${kind}-${port}` : kind;
  }
}

function engineAt(
  { capabilities = [], clock, fetch, log, node, nodeName, plain }:
    UpstreamsOptions,
  url: string,
  kind: UpstreamKind,
  id: string,
): UpstreamEngine {
  return createUpstreamEngine({
    id,
    node,
    nodeName,
    http: new UpstreamHttp({
      url: parseUpstreamUrl(url),
      clock,
      fetch,
      ...plain === undefined ? {} : { plain },
    }),
    profile: async () => {
      const { profileOf } = await import("./recognise.ts");
      return withCapabilities(profileOf(kind), capabilities);
    },
    refreshEveryMs: REFRESH_EVERY_MS,
    clock,
    log,
  });
}
