import type { JsonObject, JsonValue } from "../../domain/mod.ts";
import type { Clock } from "../../platform/mod.ts";
import {
  type HttpCall,
  type HttpClient,
  type HttpReply,
  replyOf,
  UnreachableError,
} from "../http_client.ts";
import { adoptReply } from "./adopt_reply.ts";
import { readBoundedJson } from "./bounded_json.ts";
import type { UpstreamUrl } from "./upstream_url.ts";

/** The part of `fetch` that is used; a test's stand-in keeps traffic inside. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** A probe that takes longer has failed. */
const PROBE_MS = 3_000;
const LOCKED: ReadonlySet<number> = new Set([401, 403]);
const OPENAI_ROUTE = /^\/v1(?=\/)/;

/** What a server answered to a probe. */
export type ProbeAnswer =
  | { readonly kind: "json"; readonly value: JsonValue }
  /** It answers those alone who have a key. */
  | { readonly kind: "locked" }
  /** It answers, but not as the API that was asked for. */
  | { readonly kind: "other"; readonly reason: string };

/** What a connection to a server is made of. */
export interface UpstreamHttpOptions {
  readonly url: UpstreamUrl;
  readonly clock: Clock;
  /** How it reaches the network. */
  readonly fetch: Fetch;
  /** The cheap way to an origin, or null; absent for none. Probes are rare and go through `fetch`. */
  readonly plain?: (origin: string) => HttpClient | null;
  /** Key of the account, or null; it goes to the server of `url` alone. */
  readonly key?: string | null;
  /** Further headers of every call. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Headers of probes in place of the key's own. */
  readonly probeHeaders?: Readonly<Record<string, string>>;
}

/** Talks to one upstream server: probes, and the calls of attempts. */
export class UpstreamHttp implements HttpClient {
  readonly #options: UpstreamHttpOptions;

  /**
   * @param options The server and how to reach it.
   */
  constructor(options: UpstreamHttpOptions) {
    this.#options = options;
  }

  /**
   * Ask one of the server's own routes.
   *
   * @param path Path behind its base, with a leading slash.
   * @param signal Aborting it breaks the call off.
   * @param body POSTed where there is one.
   * @throws {TypeError} When the server can not be reached.
   * @throws {DOMException} When it does not answer in time.
   */
  async probe(
    path: string,
    signal: AbortSignal,
    body?: JsonObject,
  ): Promise<ProbeAnswer> {
    const { clock, url, fetch } = this.#options;
    using deadline = clock.deadline(PROBE_MS, signal);
    const response = await fetch(urlOf(url, path), {
      method: body === undefined ? "GET" : "POST",
      headers: {
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...this.#options.headers,
        ...(this.#options.probeHeaders ?? this.#authorization()),
      },
      body: body === undefined ? null : JSON.stringify(body),
      redirect: "error",
      signal: deadline.signal,
    });
    if (!response.ok) {
      await response.body?.cancel();
      if (LOCKED.has(response.status)) return { kind: "locked" };
      return {
        kind: "other",
        reason: `answers ${path} with ${response.status}`,
      };
    }
    const value = await readBoundedJson(replyOf(response).body);
    return value === undefined
      ? {
        kind: "other",
        reason: `answers ${path} with something other than JSON`,
      }
      : { kind: "json", value };
  }

  /**
   * Whether anybody answers there, whatever the answer. No key goes along, and
   * nothing is paid for it.
   *
   * @param signal Aborting it breaks the look off.
   */
  async isReachable(signal: AbortSignal): Promise<boolean> {
    const { clock, url, fetch } = this.#options;
    using deadline = clock.deadline(PROBE_MS, signal);
    try {
      const response = await fetch(urlOf(url, "/v1/models"), {
        method: "HEAD",
        redirect: "manual",
        signal: deadline.signal,
      });
      await response.body?.cancel();
      return true;
    } catch {
      // No name, no route, no answer: all the same to whoever would ask.
      return false;
    }
  }

  async post(call: HttpCall, signal: AbortSignal): Promise<HttpReply> {
    const { headers, key = null, clock } = this.#options;
    const reply = await this.#post({
      ...call,
      headers: { ...call.headers, ...headers, ...this.#authorization() },
    }, signal);
    return await adoptReply(reply, key, clock.now());
  }

  async #post(call: HttpCall, signal: AbortSignal): Promise<HttpReply> {
    const { url, fetch, plain } = this.#options;
    const full = urlOf(url, call.path);
    const cheap = plain?.(url.origin) ?? null;
    if (cheap !== null) {
      const path = full.slice(url.origin.length);
      return await cheap.post({ ...call, path }, signal);
    }
    const asking = fetch(full, {
      method: "POST",
      headers: call.headers,
      body: call.body,
      // A server that sends elsewhere would take the key and the prompt along.
      redirect: "error",
      signal,
    });
    return replyOf(
      await asking.catch((error) => {
        throw isUnconnected(error)
          ? new UnreachableError("No connection stands", { cause: error })
          : error;
      }),
    );
  }

  /** Nothing is held: connections belong to whoever made `fetch`. */
  [Symbol.dispose](): void {}

  #authorization(): Record<string, string> {
    const { key = null } = this.#options;
    return key === null ? {} : { authorization: `Bearer ${key}` };
  }
}

/** By these words alone the runtime tells what never stood from what broke. */
function isUnconnected(error: unknown): boolean {
  return error instanceof TypeError && error.cause instanceof Error &&
    error.cause.message.includes("client error (Connect)");
}

function urlOf(url: UpstreamUrl, path: string): string {
  return OPENAI_ROUTE.test(path)
    ? url.openai + path.replace(OPENAI_ROUTE, "")
    : url.root + path;
}
