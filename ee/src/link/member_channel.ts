import { request } from "node:https";
import type { ClientRequest, IncomingMessage } from "node:http";
import type { Clock } from "@covey/core/platform";
import type { KeyHash } from "../identity/key_hash.ts";
import { type DialledSocket, dialLink, type LinkCredentials } from "./dial.ts";
import { DialTurns } from "./dial_turns.ts";
import type { LinkAddress } from "./link_address.ts";
import { LinkError } from "./link_error.ts";
import { LinkExchange } from "./link_exchange.ts";
import { afterListening } from "./listening_time.ts";
import { PinnedAgent } from "./pinned_agent.ts";

/** Allowance over a connection's own limit, before the channel gives up on it. */
const SOCKET_LIMIT_MS = 1250;

/** Header in which a node says which of its starts this is. */
export const BOOT_HEADER = "x-covey-boot";

/** What a channel needs. */
export interface ChannelOptions {
  /** The only key it talks to. */
  readonly keyHash: KeyHash;
  /** Where that member may be, best first; asked again for each connection. */
  addresses(): readonly LinkAddress[];
  readonly credentials: LinkCredentials;
  /** Drawn at this node's start, and said with every request. */
  readonly bootId?: string;
  readonly clock: Clock;
  /** A connection that stands already and whose key was checked. */
  readonly first?: DialledSocket;
  /** Called with each address at which the key answered. */
  onConnected?(address: LinkAddress): void;
  /** Called when the member, or its machine, ends a connection that idles: it may be gone. */
  onDropped?(): void;
}

/** Where a member's key was checked last, and the certificate that showed it. */
export interface CheckedEnd {
  readonly address: LinkAddress;
  /** DER. */
  readonly certificate: Uint8Array;
}

/** One request to a member. */
export interface LinkCall {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent in one piece with its length; empty for none. */
  readonly body?: Uint8Array;
  /** Longest wait for the answer's head, from the moment a connection stands. */
  readonly headLimitMs: number;
  /**
   * Longest wait for a connection to become free, or for a turn to dial one.
   * Absent where it is dialled at once, however many are being dialled.
   */
  readonly turnLimitMs?: number;
  readonly signal: AbortSignal;
}

/** Everything that is said to one member. Owns its connections. */
export class MemberChannel implements Disposable {
  readonly keyHash: KeyHash;
  readonly #options: ChannelOptions;
  readonly #agent: PinnedAgent;
  readonly #turns: DialTurns;
  readonly #life = new AbortController();
  readonly #running = new Set<(error: Error) => void>();
  #first: DialledSocket | undefined;
  #checked: CheckedEnd | null = null;
  #lastHeardMs: number | null = null;

  constructor(options: ChannelOptions) {
    this.keyHash = options.keyHash;
    this.#options = options;
    this.#first = options.first;
    this.#checked = options.first ?? null;
    this.#turns = new DialTurns(options.clock, () => this.#agent.hasRoom);
    this.#agent = new PinnedAgent(() => this.#dial(), options.clock, {
      onDropped: () => options.onDropped?.(),
      onRoom: () => this.#turns.advance(),
      onNoWay: (error) => this.#turns.fail(error),
    });
  }

  /** The address of the newest connection, or null before the first. */
  get address(): LinkAddress | null {
    return this.#checked?.address ?? null;
  }

  /** The end of the newest connection, or null before the first. */
  get checked(): CheckedEnd | null {
    return this.#checked;
  }

  /** Headers that go with every request. */
  get ownHeaders(): Readonly<Record<string, string>> {
    const { bootId } = this.#options;
    return bootId === undefined ? {} : { [BOOT_HEADER]: bootId };
  }

  /** Monotonic time of the last byte that came from the member, or null. */
  get lastHeardMs(): number | null {
    return this.#lastHeardMs;
  }

  /**
   * Send a request and wait for the answer's head. Every wait has a timer of
   * its own, since a connection that dies under a request may end it with
   * neither an answer nor an error. The connection's begins with its dial.
   *
   * @throws {LinkError} When the link fails.
   * @throws {NoTurnError} When the wait for a turn was too long; the signal's reason when it was aborted.
   */
  async request(call: LinkCall): Promise<LinkExchange> {
    const { signal, turnLimitMs } = call;
    signal.throwIfAborted();
    this.#life.signal.throwIfAborted();
    const begin = () => this.#exchange(call);
    return turnLimitMs === undefined
      ? await begin()
      : await this.#turns.begin(begin, { limitMs: turnLimitMs, signal });
  }

  /** Takes its connection, or begins to dial it, before it waits for anything. */
  async #exchange(call: LinkCall): Promise<LinkExchange> {
    const { signal, body } = call;
    const { clock } = this.#options;
    const outgoing = request({
      agent: this.#agent,
      // Names the pool only: where to connect is the agent's business.
      host: "covey",
      port: 443,
      method: call.method,
      path: call.path,
      headers: {
        ...this.ownHeaders,
        ...call.headers,
        ...(call.method === "POST"
          ? { "content-length": String(body?.length ?? 0) }
          : {}),
      },
    });
    const failed = Promise.withResolvers<never>();
    // The failure is read by whoever waits at the time; there may be nobody.
    failed.promise.catch(() => {});
    let cause: Error | undefined;
    const note = (error: Error) => {
      cause ??= error;
      failed.reject(cause);
    };
    const fail = (error: Error) => {
      note(error);
      giveUp(outgoing, error);
    };
    const onAbort = () => fail(reasonOf(signal));
    const onServed = () => signal.removeEventListener("abort", onAbort);
    const onEnd = () => {
      onServed();
      this.#running.delete(fail);
    };
    this.#running.add(fail);
    signal.addEventListener("abort", onAbort, { once: true });
    outgoing.on("error", (error) => note(asLinkError(error)));
    let answered = false;
    // Once there is an answer, its own stream tells whether it came whole.
    outgoing.once("close", () => {
      if (!answered) note(new LinkError("broken", "The connection ended"));
    });
    try {
      const head = nextHead(outgoing);
      outgoing.end(body ?? new Uint8Array());
      let timer = afterListening(
        clock,
        SOCKET_LIMIT_MS,
        () => fail(late("connection")),
      );
      try {
        await Promise.race([head.socket, failed.promise]);
        const sentAtMs = clock.monotonic();
        timer[Symbol.dispose]();
        timer = afterListening(
          clock,
          call.headLimitMs,
          () => fail(late("answer")),
        );
        const response = await Promise.race([head.response, failed.promise]);
        answered = true;
        this.#heard();
        return new LinkExchange({
          response,
          failed: failed.promise,
          fail,
          cause: () => cause,
          sentAtMs,
          clock,
          onHeard: () => this.#heard(),
          onServed,
          onEnd,
        });
      } finally {
        timer[Symbol.dispose]();
      }
    } catch (error) {
      giveUp(outgoing);
      onEnd();
      throw error;
    }
  }

  /** Close idle connections, so that the next request dials again. */
  redial(): void {
    this.#first?.socket.destroy();
    this.#agent.destroy();
  }

  /** End every request that runs, because the member is held to be gone. */
  breakOff(reason: string): void {
    this.#turns.fail(new LinkError("broken", reason));
    for (const fail of [...this.#running]) {
      fail(new LinkError("broken", reason));
    }
  }

  [Symbol.dispose](): void {
    this.breakOff("This node closed the link");
    this.#life.abort(new LinkError("broken", "This node closed the link"));
    this.#first?.socket.destroy();
    this.#agent.destroy();
  }

  async #dial(): Promise<DialledSocket> {
    const first = this.#first;
    this.#first = undefined;
    if (first !== undefined && !first.socket.destroyed) return first;
    const { addresses, credentials, clock } = this.#options;
    const dialled = await dialLink({
      addresses: addresses(),
      expected: this.keyHash,
      credentials,
      clock,
      signal: this.#life.signal,
    });
    this.#checked = dialled;
    this.#options.onConnected?.(dialled.address);
    return dialled;
  }

  #heard(): void {
    this.#lastHeardMs = this.#options.clock.monotonic();
  }
}

/**
 * End a request for good. The runtime (2.9.6) takes one that was destroyed on a
 * connection it had used before for one that met a stale connection, and sends
 * it again: the member would run an attempt that nobody waits for any more
 * (denoland/deno#36786).
 */
function giveUp(outgoing: ClientRequest, error?: Error): void {
  outgoing.reusedSocket = false;
  outgoing.destroy(error);
}

function nextHead(outgoing: ClientRequest) {
  return {
    socket: new Promise<void>((resolve) =>
      outgoing.once("socket", () => resolve())
    ),
    response: new Promise<IncomingMessage>((resolve) =>
      outgoing.once("response", resolve)
    ),
  };
}

function late(what: string): LinkError {
  return new LinkError("timeout", `No ${what} from the member in time`);
}

function asLinkError(error: Error): LinkError {
  return error instanceof LinkError
    ? error
    : new LinkError("broken", "The connection broke", error);
}

function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error
    ? signal.reason
    : new DOMException("The request was withdrawn", "AbortError");
}
