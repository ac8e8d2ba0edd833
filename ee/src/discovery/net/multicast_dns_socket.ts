import type { Clock } from "@covey/core/platform";
import type { Packet } from "dns-packet";
import { MDNS_PORT } from "../dns/message.ts";
import { readPacket, writePacket } from "../dns/packet.ts";
import { canonicalAddress } from "./ip_address.ts";
import type {
  MulticastSocket,
  MulticastSocketOptions,
  OpenMulticastSocket,
} from "./multicast_socket.ts";

/** RFC 6762, 17: no message is larger. Decoding larger ones takes quadratic time. */
const MOST_MESSAGE_BYTES = 9_000;
/** Datagrams decoded in a second on one socket; the rest is dropped unread. */
const MOST_DATAGRAMS_PER_SECOND = 400;
const OPEN_MS = 3_000;
const CLOSE_MS = 1_000;

const GROUP = { IPv4: "224.0.0.251", IPv6: "ff02::fb" } as const;

/**
 * The real socket, over `multicast-dns`, which is loaded on first use.
 *
 * @param clock For the rate limit and the time limits.
 */
export function createMulticastDnsOpener(clock: Clock): OpenMulticastSocket {
  return async (options) => {
    const { address, interfaceName, family } = options;
    // Without permission the runtime throws from a later tick, where nobody
    // can catch it; receivers are not known beforehand, so all must be allowed.
    const permission = await Deno.permissions.query({ name: "net" });
    if (permission.state !== "granted") {
      throw new Error(
        "this process may not use the network freely; start it with --allow-net",
      );
    }
    const isIpv6 = family === "IPv6";
    const group = isIpv6 ? `${GROUP.IPv6}%${interfaceName}` : GROUP.IPv4;
    // Bound to the group, the socket takes no unicast away from another
    // responder on this machine, and in IPv6 hears its own interface only.
    // Not all systems can bind so.
    try {
      return await openBound(clock, options, group);
    } catch (error) {
      if (isBusy(error)) throw openError(error, address);
    }
    try {
      return await openBound(clock, options, isIpv6 ? "::" : "0.0.0.0");
    } catch (error) {
      throw openError(error, address);
    }
  };
}

async function openBound(
  clock: Clock,
  options: MulticastSocketOptions,
  bind: string,
): Promise<MulticastSocket> {
  const { createSocket } = await import("node:dgram");
  const { default: createMulticastDns } = await import("multicast-dns");
  const isIpv6 = options.family === "IPv6";
  const type = isIpv6 ? "udp6" : "udp4";
  const inner = createSocket({ type, reuseAddr: true });
  const admit = createGate(clock);
  // The library decodes whatever arrives, so what is too much must not reach it.
  const emit = inner.emit.bind(inner);
  inner.emit = (event: string | symbol, ...values: unknown[]): boolean => {
    const [datagram] = values;
    if (event === "message" && datagram instanceof Uint8Array) {
      if (!admit(datagram.length)) return false;
    }
    return Reflect.apply(emit, inner, [event, ...values]);
  };
  const mdns = createMulticastDns({
    socket: inner,
    type,
    ip: GROUP[options.family],
    interface: isIpv6 ? `::%${options.interfaceName}` : options.address,
    bind,
  });
  const closing = new AbortController();
  let isJoined = false;
  let isReady = false;
  let warning: Error | null = null;
  async function close(): Promise<void> {
    if (closing.signal.aborted) return;
    closing.abort();
    const { promise, resolve } = Promise.withResolvers<void>();
    using _late = clock.after(CLOSE_MS, resolve);
    mdns.destroy(resolve);
    await promise;
  }
  try {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    using _late = clock.after(
      OPEN_MS,
      () => reject(new Error(`it was not bound within ${OPEN_MS} ms`)),
    );
    mdns.on("networkInterface", () => {
      isJoined = true;
    });
    mdns.on("ready", () => resolve());
    mdns.on("error", (error: Error) => {
      if (!isReady) reject(error);
      else if (!closing.signal.aborted) options.onFailure(error.message);
    });
    // Mostly datagrams that can not be decoded: anybody may send those.
    mdns.on("warning", (error: Error) => {
      warning = error;
    });
    mdns.on(
      "packet",
      (packet: Packet, from: { address: string; port: number }) => {
        const message = readPacket(packet);
        const address = canonicalAddress(from.address.split("%")[0] ?? "");
        if (message === undefined || address === undefined) return;
        if (closing.signal.aborted || !isReady) return;
        options.onMessage(message, { address, port: from.port });
      },
    );
    await promise;
    if (!isJoined) {
      throw new Error("the multicast group can not be joined", {
        cause: warning,
      });
    }
    isReady = true;
  } catch (error) {
    await close();
    throw error;
  }
  return {
    async send(message, to) {
      if (closing.signal.aborted) throw new Error("the socket is closed");
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const onClose = () => reject(new Error("the socket was closed"));
      closing.signal.addEventListener("abort", onClose, { once: true });
      const isScoped = isIpv6 && to?.address.startsWith("fe80:");
      const receiver = to === undefined
        ? { address: group(options), port: MDNS_PORT }
        : {
          address: isScoped
            ? `${to.address}%${options.interfaceName}`
            : to.address,
          port: to.port,
        };
      const sent = (error: Error | null) => error ? reject(error) : resolve();
      const packet = writePacket(message);
      if (message.kind === "query") {
        mdns.query(
          { ...packet, questions: packet.questions ?? [] },
          receiver,
          sent,
        );
      } else {
        mdns.respond(
          { ...packet, answers: packet.answers ?? [] },
          receiver,
          sent,
        );
      }
      try {
        await promise;
      } finally {
        closing.signal.removeEventListener("abort", onClose);
      }
    },
    [Symbol.asyncDispose]: close,
  };
}

function group({ family }: MulticastSocketOptions): string {
  return GROUP[family];
}

/** Lets through what is small enough, and only so much of it in a second. */
function createGate(clock: Clock): (sizeBytes: number) => boolean {
  let secondMs = -Infinity;
  let count = 0;
  return (sizeBytes) => {
    if (sizeBytes > MOST_MESSAGE_BYTES) return false;
    const nowMs = clock.monotonic();
    if (nowMs - secondMs >= 1_000) {
      secondMs = nowMs;
      count = 0;
    }
    return ++count <= MOST_DATAGRAMS_PER_SECOND;
  };
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && "code" in error &&
    error.code === "EADDRINUSE";
}

function openError(error: unknown, address: string): Error {
  if (isBusy(error)) {
    return new Error(
      `UDP port ${MDNS_PORT} is held by a program that does not share it; stop that program, or list members in COVEY_PEERS`,
      { cause: error },
    );
  }
  const detail = error instanceof Error ? error.message : String(error);
  return new Error(
    `multicast DNS can not be opened on ${address}: ${detail}`,
    { cause: error },
  );
}
