import { type JsonObject, type NodeId, Secret } from "@covey/core/domain";
import { createSystemClock, createSystemEntropy } from "@covey/core/platform";
import { runAdmission } from "../../src/admission/admission_client.ts";
import type { AdmissionOutcome } from "../../src/admission/admission_outcome.ts";
import { deriveClusterKeys } from "../../src/identity/cluster_keys.ts";
import type { NodeIdentity } from "../../src/identity/node_identity.ts";
import { dialLink } from "../../src/link/dial.ts";
import { ADMISSION_PATH } from "../../src/link/link_server.ts";
import { MemberChannel } from "../../src/link/member_channel.ts";

/** An answer to a stranger's request. */
export interface Answer {
  readonly status: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const LIMIT_MS = 2000;

/** Someone who speaks the link's protocol as well as any node, and means harm. */
export class Stranger implements Disposable {
  readonly identity: NodeIdentity;
  readonly #channel: MemberChannel;

  /** Connect to whoever listens on a port of the loopback interface. */
  static async meet(identity: NodeIdentity, port: number): Promise<Stranger> {
    const clock = createSystemClock();
    const first = await dialLink({
      addresses: [{ host: "127.0.0.1", port }],
      expected: null,
      credentials: identity,
      clock,
      signal: new AbortController().signal,
    });
    return new Stranger(
      identity,
      new MemberChannel({
        keyHash: first.keyHash,
        addresses: () => [first.address],
        credentials: identity,
        clock,
        first,
      }),
    );
  }

  private constructor(identity: NodeIdentity, channel: MemberChannel) {
    this.identity = identity;
    this.#channel = channel;
  }

  /** Send a request; a body makes it a POST. */
  async ask(
    path: string,
    body?: Uint8Array,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const exchange = await this.#channel.request({
      method: body === undefined ? "GET" : "POST",
      path,
      headers,
      ...(body === undefined ? {} : { body }),
      headLimitMs: LIMIT_MS,
      signal: new AbortController().signal,
    });
    const bytes = await exchange.readAll(2 ** 22, LIMIT_MS);
    return { status: exchange.status, bytes };
  }

  /**
   * Ask for admission by a secret.
   *
   * @param secret The secret.
   * @param sent Receives each message that was sent.
   * @param linkPort The port it says it listens on.
   */
  async admit(
    secret: string,
    sent: Uint8Array[] = [],
    linkPort = 9,
  ): Promise<AdmissionOutcome> {
    const { admissionPassword } = await deriveClusterKeys(new Secret(secret));
    return await runAdmission({
      way: { kind: "secret", slot: 0 },
      prs: admissionPassword,
      own: this.identity.keyHash,
      peer: this.#channel.keyHash,
      payload: applicationOf(this.identity.id, linkPort),
      clock: createSystemClock(),
      entropy: createSystemEntropy(),
      signal: new AbortController().signal,
      send: async (message) => {
        sent.push(message);
        return (await this.ask(ADMISSION_PATH, message)).bytes;
      },
    });
  }

  [Symbol.dispose](): void {
    this.#channel[Symbol.dispose]();
  }
}

/** What a node says of itself when it asks for admission. */
function applicationOf(id: NodeId, linkPort: number): JsonObject {
  return { id, name: "stranger", linkPort, rows: [] };
}
