import type { Attempt, NodeId, Router } from "@covey/core/domain";
import {
  type Clock,
  createSeededEntropy,
  createSystemClock,
  MemoryFiles,
} from "@covey/core/platform";
import { QuietLog } from "../../../test/fakes/quiet_log.ts";
import {
  loadIdentity,
  type NodeIdentity,
} from "../../src/identity/node_identity.ts";
import type { KeyHash } from "../../src/identity/key_hash.ts";
import { LinkServer } from "../../src/link/link_server.ts";
import { MemberChannel } from "../../src/link/member_channel.ts";

/** Node n's id. */
export function nodeIdOf(n: number): NodeId {
  return `00000000-0000-4000-8000-${String(n).padStart(12, "0")}` as NodeId;
}

/** A fresh identity for node n. */
export function makeIdentity(n: number): Promise<NodeIdentity> {
  return loadIdentity({
    files: new MemoryFiles(),
    entropy: createSeededEntropy(n),
    log: new QuietLog(),
    stateDir: "/state",
    nodeId: nodeIdOf(n),
  });
}

/** A server on the loopback interface, with a member table that the test edits. */
export interface LinkFixture extends AsyncDisposable {
  readonly server: LinkServer;
  readonly members: Map<KeyHash, NodeId>;
  /** Bodies that reached the admission desk. */
  readonly admissions: Uint8Array[];
  /** Open a channel of `from` to the server. */
  channel(
    from: NodeIdentity,
    clock?: Clock,
    pin?: KeyHash,
    onConnected?: () => void,
  ): MemberChannel;
}

/** Open a server of `identity` that hands attempts to `serve`, on any free port unless said. */
export async function openLink(
  identity: NodeIdentity,
  serve: Router["serve"] = () => Promise.reject(new Error("Not expected")),
  serverClock: Clock = createSystemClock(),
  port = 0,
): Promise<LinkFixture> {
  const members = new Map<KeyHash, NodeId>();
  const admissions: Uint8Array[] = [];
  const channels: MemberChannel[] = [];
  const server = await LinkServer.open({
    host: "127.0.0.1",
    port,
    credentials: identity,
    clock: serverClock,
    log: new QuietLog(),
    member: (keyHash) => members.get(keyHash),
    admission: {
      bodyLimitBytes: () => 2048,
      receive(body) {
        admissions.push(body);
        return Promise.resolve(new TextEncoder().encode("desk"));
      },
    },
    status: () => new TextEncoder().encode('{"v":1}'),
    tell: () => () => {},
    callBack: () => Promise.resolve(new TextEncoder().encode("{}")),
    serve,
  });
  return {
    server,
    members,
    admissions,
    channel(
      from,
      clock = createSystemClock(),
      pin = identity.keyHash,
      onConnected = () => {},
    ) {
      const channel = new MemberChannel({
        keyHash: pin,
        addresses: () => [{ host: "127.0.0.1", port: server.port }],
        credentials: from,
        clock,
        onConnected,
      });
      channels.push(channel);
      return channel;
    },
    async [Symbol.asyncDispose]() {
      for (const channel of channels) channel[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** An attempt of an entry node. */
export function attemptFrom(entry: NodeId, n = 1): Attempt {
  return {
    id: `decision-0001.${n}` as Attempt["id"],
    entry,
    dispatch: n,
    request: {
      capability: "chat",
      model: "m",
      source: { kind: "unsaid" },
      stream: true,
      includeUsage: false,
      body: { messages: [{ role: "user", content: "hello" }] },
      promptTokens: 5,
      maxOutputTokens: null,
      inputCount: 1,
      needs: [],
      conversation: null,
      client: "c",
    },
    model: "m",
    expectedOutputTokens: 10,
    predictedMs: 100,
  };
}

/** A body of these pieces, one a pull. */
export function bodyOf(
  pieces: readonly Uint8Array[],
): ReadableStream<Uint8Array> {
  return ReadableStream.from(pieces);
}
