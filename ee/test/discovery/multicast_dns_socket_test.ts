import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createSocket, type Socket } from "node:dgram";
import { type Log, type NodeId, parseNodeId } from "@covey/core/domain";
import {
  createDenoFiles,
  createSystemClock,
  createSystemEntropy,
} from "@covey/core/platform";
import {
  createDenoInterfaces,
  createDiscovery,
  createMulticastDnsOpener,
  type Discovery,
  type NetworkInterface,
  type Sighting,
} from "../../src/discovery/mod.ts";
import { type DnsMessage, queryOf } from "../../src/discovery/dns/message.ts";

const clock = createSystemClock();
const entropy = createSystemEntropy();
const openSocket = createMulticastDnsOpener(clock);
const isForbidden = await whyNot();
const ignore = isForbidden !== null;
const suffix = isForbidden === null
  ? ""
  : ` [skipped: ${isForbidden}; run where UDP multicast on 127.0.0.1:5353 is allowed]`;
const LATE_MS = 10_000;

/** Multicast may be forbidden, or its port be held, where the tests run. */
async function whyNot(): Promise<string | null> {
  try {
    const heard = Promise.withResolvers<void>();
    await using socket = await openSocket({
      interfaceName: "lo",
      family: "IPv4",
      address: "127.0.0.1",
      onMessage: () => heard.resolve(),
      onFailure: (reason) => heard.reject(new Error(reason)),
    });
    using _late = clock.after(
      2_000,
      () => heard.reject(new Error("nothing is heard on loopback")),
    );
    await socket.send(queryOf({
      questions: [{ name: "covey-test.local", type: "A", unicast: false }],
    }));
    await heard.promise;
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function silentLog(): Log {
  const quiet = () => {};
  const log: Log = {
    debug: quiet,
    info: quiet,
    warn: quiet,
    error: quiet,
    child: () => log,
  };
  return log;
}

function newId(): NodeId {
  const id = parseNodeId(entropy.uuid());
  assert.ok(id);
  return id;
}

function startNode(
  nodeId: NodeId,
  port: number,
  onSighting: (sighting: Sighting) => void,
): Promise<Discovery> {
  return createDiscovery({
    clock,
    entropy,
    log: silentLog(),
    interfaces: ["127.0.0.1"],
    listInterfaces: createDenoInterfaces(createDenoFiles(() => "test")),
    openSocket,
    service: { nodeId, port, advertise: [] },
    onSighting,
  });
}

function bindPlain(options: {
  reuseAddr: boolean;
  address: string;
}): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = createSocket({ type: "udp4", reuseAddr: options.reuseAddr });
  socket.once("error", reject);
  socket.bind(5353, options.address, () => resolve(socket));
  return promise;
}

function closePlain(socket: Socket): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.close(resolve);
  return promise;
}

Deno.test({
  name:
    `createDiscovery finds a node over real loopback and hears its goodbye${suffix}`,
  ignore,
  fn: async () => {
    const [first, second] = [newId(), newId()];
    const found = Promise.withResolvers<Sighting>();
    const foundBack = Promise.withResolvers<Sighting>();
    const left = Promise.withResolvers<Sighting>();
    using _late = clock.after(LATE_MS, () => {
      const error = new Error(`no sighting within ${LATE_MS} ms`);
      for (const one of [found, foundBack, left]) one.reject(error);
    });
    // Other nodes may be on this machine's loopback: only these two count.
    await using _a = await startNode(first, 11_001, (sighting) => {
      if (sighting.claimedId !== second) return;
      if (sighting.kind === "seen") foundBack.resolve(sighting);
      else left.resolve(sighting);
    });
    const b = await startNode(second, 11_002, (sighting) => {
      if (sighting.claimedId === first) found.resolve(sighting);
    });
    try {
      const [one, back] = await Promise.all([found.promise, foundBack.promise]);
      for (const [sighting, port] of [[one, 11_001], [back, 11_002]] as const) {
        assert.ok(sighting.kind === "seen");
        assert.deepEqual(sighting.addresses, ["127.0.0.1"]);
        assert.equal(sighting.port, port);
      }
    } finally {
      await b[Symbol.asyncDispose]();
    }
    assert.equal((await left.promise).kind, "goodbye");
  },
});

Deno.test({
  name:
    `createMulticastDnsOpener sends from 127.0.0.1:5353 to loopback alone${suffix}`,
  ignore,
  fn: async () => {
    const id = newId();
    const heard: { address: string; port: number; text: string }[] = [];
    const enough = Promise.withResolvers<void>();
    using _late = clock.after(
      LATE_MS,
      () => enough.reject(new Error("nothing was heard")),
    );
    // A packet that went out elsewhere would have that interface's address.
    const spy = await bindPlain({ reuseAddr: true, address: "0.0.0.0" });
    spy.addMembership("224.0.0.251", "127.0.0.1");
    spy.on("message", (message, { address, port }) => {
      const text = message.toString("latin1");
      if (!text.includes(id)) return;
      heard.push({ address, port, text });
      // Three probes and two announcements.
      if (heard.length >= 5) enough.resolve();
    });
    try {
      await using _node = await startNode(id, 11_003, () => {});
      await enough.promise;
    } finally {
      await closePlain(spy);
    }
    const sources = new Set(heard.map((one) => `${one.address}:${one.port}`));
    assert.deepEqual([...sources], ["127.0.0.1:5353"]);
    assert.equal(
      heard.some((one) => one.text.includes(Deno.hostname())),
      false,
    );
  },
});

Deno.test({
  name:
    `createMulticastDnsOpener drops what is too large before it is decoded${suffix}`,
  ignore,
  fn: async () => {
    const heard: DnsMessage[] = [];
    const last = Promise.withResolvers<void>();
    using _late = clock.after(
      LATE_MS,
      () => last.reject(new Error("the last message was not heard")),
    );
    await using _socket = await openSocket({
      interfaceName: "lo",
      family: "IPv4",
      address: "127.0.0.1",
      onMessage: (message) => {
        const [question] = message.questions;
        if (!question?.name.startsWith("covey-size-")) return;
        heard.push(message);
        if (question.name === "covey-size-last.local") last.resolve();
      },
      onFailure: (reason) => last.reject(new Error(reason)),
    });
    const { default: dnsPacket } = await import("dns-packet");
    const question = (name: string) => ({ name, type: "A" as const });
    const large = dnsPacket.encode({
      type: "query",
      questions: [question("covey-size-large.local")],
      answers: Array(400).fill({
        type: "A",
        name: "covey-size-large.local",
        data: "192.0.2.1",
      }),
    });
    assert.ok(large.length > 9_000);
    const spy = await bindPlain({ reuseAddr: true, address: "0.0.0.0" });
    try {
      spy.setMulticastInterface("127.0.0.1");
      const send = (bytes: Uint8Array) => {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        spy.send(
          Buffer.from(bytes),
          5353,
          "224.0.0.251",
          (error) => error ? reject(error) : resolve(),
        );
        return promise;
      };
      await send(large);
      await send(entropy.bytes(200));
      await send(new Uint8Array(0));
      await send(
        dnsPacket.encode({
          type: "query",
          questions: [question("covey-size-last.local")],
        }),
      );
      await last.promise;
    } finally {
      await closePlain(spy);
    }
    assert.equal(heard.length, 1);
  },
});

Deno.test({
  name:
    `createMulticastDnsOpener names the cause when port 5353 is not shared (MDN-08)${suffix}`,
  ignore: ignore || Deno.build.os !== "linux",
  fn: async () => {
    // A socket without SO_REUSEADDR shuts others out; where another program
    // shares the port already, it can not be made and there is nothing to test.
    const holder = await bindPlain({
      reuseAddr: false,
      address: "224.0.0.251",
    }).catch(() => null);
    if (holder === null) return;
    const one: NetworkInterface = {
      name: "lo",
      kind: "loopback",
      index: null,
      addresses: [{ address: "127.0.0.1", family: "IPv4", prefixLength: 8 }],
    };
    try {
      await using node = await createDiscovery({
        clock,
        entropy,
        log: silentLog(),
        interfaces: null,
        listInterfaces: () => [one],
        openSocket,
        service: { nodeId: newId(), port: 11_004, advertise: [] },
        onSighting: () => {},
      });
      const [state] = node.state();
      assert.match(
        state?.state === "degraded" ? state.reason : "",
        /^UDP port 5353 is held by a program that does not share it/,
      );
    } finally {
      await closePlain(holder);
    }
  },
});
