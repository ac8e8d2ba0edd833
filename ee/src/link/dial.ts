import type { Clock } from "@covey/core/platform";
import { type KeyHash, keyHashOfCertificate } from "../identity/key_hash.ts";
import { formatAddress, type LinkAddress } from "./link_address.ts";
import { LinkError } from "./link_error.ts";
import { afterListening } from "./listening_time.ts";
import {
  type LinkCredentials,
  type LinkSocket,
  TLS_SOCKETS,
} from "./link_sockets.ts";

export type { LinkCredentials } from "./link_sockets.ts";

/** Longest time until a connection stands, all addresses together. */
export const CONNECT_LIMIT_MS = 1000;
/** Head start of an address over the next one. */
const STAGGER_MS = 100;
/** Most addresses tried in one dial. */
const MAX_ADDRESSES = 8;

/** A connection whose other end proved that it holds a key. */
export interface DialledSocket {
  readonly socket: LinkSocket;
  readonly keyHash: KeyHash;
  readonly address: LinkAddress;
  /** The certificate that it showed, DER; its key is the one checked. */
  readonly certificate: Uint8Array;
}

/** What a dial needs. */
export interface DialOptions {
  /** Where to try, best first; each gets a short head start over the next. */
  readonly addresses: readonly LinkAddress[];
  /** The key that must answer, or null to learn which one does. */
  readonly expected: KeyHash | null;
  readonly credentials: LinkCredentials;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Open a connection to a peer and check its key before anything is sent.
 *
 * @throws {LinkError} `refused` when every address that can be reached refused, else what the most
 *   promising one said; or the signal's reason when it was aborted.
 */
export async function dialLink(options: DialOptions): Promise<DialledSocket> {
  const { clock, signal } = options;
  signal.throwIfAborted();
  const addresses = options.addresses.slice(0, MAX_ADDRESSES);
  if (addresses.length === 0) {
    throw new LinkError("unreachable", "No address of this member is known");
  }
  const race = new AbortController();
  const late = () =>
    race.abort(
      new DOMException(
        `No result within ${CONNECT_LIMIT_MS} ms`,
        "TimeoutError",
      ),
    );
  using _limit = afterListening(clock, CONNECT_LIMIT_MS, late);
  const end = AbortSignal.any([signal, race.signal]);
  const failures: LinkError[] = [];
  const tries: Promise<DialledSocket>[] = [];
  const winner = Promise.withResolvers<DialledSocket>();
  // Whoever loses after the race was decided has nobody to tell.
  winner.promise.catch(() => {});
  let won = false;
  try {
    for (const [index, address] of addresses.entries()) {
      const attempt = dialOne(address, options, end);
      tries.push(attempt);
      attempt.then((dialled) => {
        if (won) dialled.socket.destroy();
        won = true;
        winner.resolve(dialled);
      }, (error) => {
        failures.push(asLinkError(error, address));
        if (failures.length === addresses.length) {
          winner.reject(worstOf(failures));
        }
      });
      const last = index === addresses.length - 1;
      await (last ? winner.promise : Promise.race([
        winner.promise,
        attempt.catch(() => {}),
        clock.sleep(STAGGER_MS, end).catch(() => {}),
      ]));
      if (won || end.aborted) break;
    }
    if (!won && end.aborted) throw end.reason;
    return await winner.promise;
  } catch (error) {
    signal.throwIfAborted();
    const [first] = addresses;
    throw error instanceof LinkError || first === undefined
      ? error
      : asLinkError(error, first);
  } finally {
    race.abort(new LinkError("broken", "Another address was faster"));
    await Promise.allSettled(tries);
  }
}

function dialOne(
  address: LinkAddress,
  { credentials, expected }: DialOptions,
  signal: AbortSignal,
): Promise<DialledSocket> {
  return new Promise((resolve, reject) => {
    const sockets = credentials.sockets ?? TLS_SOCKETS;
    const socket = sockets.connect(address, credentials);
    const settle = (act: () => void) => {
      signal.removeEventListener("abort", onAbort);
      act();
    };
    const fail = (error: unknown) =>
      settle(() => {
        socket.destroy();
        reject(error);
      });
    const onAbort = () => fail(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) return onAbort();
    // Stays for the socket's whole life: an error nobody hears ends the process.
    socket.on("error", fail);
    socket.once(
      "close",
      () => fail(new LinkError("broken", "The connection was closed")),
    );
    socket.once("secureConnect", () => {
      const raw = socket.getPeerCertificate()?.raw;
      const keyHash = raw === undefined ? undefined : keyHashOfCertificate(raw);
      if (raw === undefined || keyHash === undefined) {
        return fail(new LinkError("identity", "The peer showed no usable key"));
      }
      if (expected !== null && keyHash !== expected) {
        return fail(
          new LinkError(
            "identity",
            `Another key answers at ${formatAddress(address)}`,
          ),
        );
      }
      socket.setNoDelay();
      settle(() => resolve({ socket, keyHash, address, certificate: raw }));
    });
  });
}

function asLinkError(error: unknown, address: LinkAddress): LinkError {
  if (error instanceof LinkError) return error;
  const where = formatAddress(address);
  if (error instanceof DOMException && error.name === "TimeoutError") {
    return new LinkError("timeout", `No connection to ${where} in time`, error);
  }
  const code = error instanceof Error && "code" in error ? error.code : null;
  return code === "ECONNREFUSED"
    ? new LinkError("refused", `Nobody listens at ${where}`, error)
    : new LinkError("unreachable", `Cannot connect to ${where}`, error);
}

/**
 * The failure that says most. `refused` when each address did, apart from those
 * to which no way leads: an old network's, say, after the member has moved.
 */
function worstOf(failures: readonly LinkError[]): LinkError {
  const rank = ["identity", "timeout", "broken", "refused", "unreachable"];
  const [worst] = failures.toSorted((a, b) =>
    rank.indexOf(a.problem) - rank.indexOf(b.problem)
  );
  return worst ?? new LinkError("unreachable", "No address could be reached");
}
