import { Fault, type JsonValue, type Secret } from "../../domain/mod.ts";
import type { Clock } from "../../platform/mod.ts";
import { SourceBusy } from "./retry.ts";

const MOST_REDIRECTS = 8;
/** Longest wait for an answer's head, or between two pieces of its body. */
const SILENCE_MS = 60_000;
const LONGEST_JSON_BYTES = 32 * 1024 * 1024;
const SHA256 = /^"?([0-9a-f]{64})"?$/;

/** What asking a hub needs. */
export interface HubHttpOptions {
  readonly clock: Clock;
  /** Base address of the hub, without a slash at its end. */
  readonly endpoint: string;
  /** Goes to the hub's own origin and to no other. */
  readonly token: Secret | null;
  fetch(url: URL, init: RequestInit): Promise<Response>;
}

/** An answer that began. Disposing of it ends it. */
export interface HubAnswer extends AsyncDisposable {
  readonly status: number;
  readonly headers: Headers;
  /** SHA-256 that a redirecting hub published for the file, or null. */
  readonly sha256: string | null;
  /**
   * The body, a piece at a time.
   *
   * @throws {TypeError} When the connection breaks or is silent too long.
   */
  pieces(): AsyncIterable<Uint8Array<ArrayBuffer>>;
}

/** The way to a hub: redirects followed by hand, so that the token stays at home. */
export class HubHttp {
  readonly #options: HubHttpOptions;
  readonly #home: string;

  constructor(options: HubHttpOptions) {
    this.#options = options;
    this.#home = new URL(options.endpoint).origin;
  }

  /** Address of a path of the hub. */
  urlOf(path: string): URL {
    return new URL(`${this.#options.endpoint}${path}`);
  }

  /**
   * Ask for a file or a page.
   *
   * @param url Where it is.
   * @param headers Of the request.
   * @param signal Aborting it ends the answer with the signal's reason.
   * @throws {TypeError} When there is no answer: worth another try.
   * @throws {Fault} `hub_failed` when it leads nowhere.
   */
  async get(
    url: URL,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<HubAnswer> {
    const { clock, fetch, token } = this.#options;
    const ended = new AbortController();
    const expire = () => ended.abort(new TypeError("The other side is silent"));
    let waiting = clock.after(SILENCE_MS, expire);
    const silence = {
      end: () => waiting[Symbol.dispose](),
      begin() {
        waiting[Symbol.dispose]();
        waiting = clock.after(SILENCE_MS, expire);
      },
    };
    const ends = AbortSignal.any([signal, ended.signal]);
    let sha256: string | null = null;
    try {
      for (let at = url, hops = 0; hops <= MOST_REDIRECTS; hops++) {
        const response = await fetch(at, {
          redirect: "manual",
          signal: ends,
          headers: {
            ...headers,
            // Ranges and digests are of the bytes as they lie there.
            "accept-encoding": "identity",
            ...(token !== null && at.origin === this.#home
              ? { authorization: `Bearer ${token.reveal()}` }
              : {}),
          },
        });
        sha256 ??= SHA256.exec(response.headers.get("x-linked-etag") ?? "")
          ?.[1] ?? null;
        const location = response.headers.get("location");
        if (response.status < 300 || response.status > 399 || !location) {
          return answerOf(response, sha256, silence, async () => {
            waiting[Symbol.dispose]();
            ended.abort(new TypeError("The answer was given up"));
            await response.body?.cancel().catch(() => {
              // It broke off by itself.
            });
          });
        }
        await response.body?.cancel();
        at = redirected(at, location);
      }
      throw new Fault("hub_failed", "The hub redirects without end");
    } catch (error) {
      waiting[Symbol.dispose]();
      signal.throwIfAborted();
      throw ended.signal.aborted ? ended.signal.reason : error;
    }
  }

  /**
   * Ask the hub for JSON.
   *
   * @throws {TypeError} When there is no sound answer: worth another try.
   * @throws {Fault} When the hub refuses.
   */
  async getJson(url: URL, signal: AbortSignal): Promise<JsonValue> {
    await using answer = await this.get(
      url,
      { accept: "application/json" },
      signal,
    );
    checkStatus(answer, "repository");
    const decoder = new TextDecoder();
    let text = "";
    for await (const piece of answer.pieces()) {
      text += decoder.decode(piece, { stream: true });
      if (text.length > LONGEST_JSON_BYTES) {
        throw new Fault("hub_failed", "The hub's answer is too long");
      }
    }
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new Fault("hub_failed", "The hub answered no JSON", {
        cause: error,
      });
    }
  }
}

/**
 * Refuse what another try would not change.
 *
 * @param answer What came.
 * @param what `repository` or `file`.
 * @throws {Fault} For a status that is final.
 * @throws {TypeError} For one that is worth another try.
 */
export function checkStatus(
  { headers, status }: Pick<HubAnswer, "headers" | "status">,
  what: string,
): void {
  if (status >= 200 && status < 300) return;
  if (status === 401 || status === 403) {
    throw new Fault(
      "hub_failed",
      `The hub refuses this ${what} (${status}): it may not exist, be private, or ask for its terms to be accepted; set HF_TOKEN to a token that may read it`,
    );
  }
  if (status === 404 || status === 410) {
    throw new Fault("not_found", `The hub has no such ${what}`);
  }
  if (status === 408 || status === 425 || status === 429 || status >= 500) {
    throw new SourceBusy(
      `The hub answered with status ${status}`,
      headers.get("retry-after"),
    );
  }
  throw new Fault(
    "hub_failed",
    `The hub answered for the ${what} with status ${status}`,
  );
}

function redirected(from: URL, location: string): URL {
  const to = URL.parse(location, from);
  const sound = to !== null &&
    (to.protocol === "https:" || to.protocol === from.protocol) &&
    /^https?:$/.test(to.protocol);
  if (sound) return to;
  throw new Fault("hub_failed", "The hub redirects to an unsafe address");
}

function answerOf(
  response: Response,
  sha256: string | null,
  silence: { begin(): void; end(): void },
  end: () => Promise<void>,
): HubAnswer {
  return {
    status: response.status,
    headers: response.headers,
    sha256,
    async *pieces() {
      for await (const piece of response.body ?? []) {
        // What is done with a piece takes its time, which is no silence.
        silence.end();
        yield piece;
        silence.begin();
      }
    },
    [Symbol.asyncDispose]: end,
  };
}
