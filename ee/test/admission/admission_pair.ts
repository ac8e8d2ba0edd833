import type { JsonObject } from "@covey/core/domain";
import { createSeededEntropy, ManualClock } from "@covey/core/platform";
import { createHash } from "node:crypto";
import { QuietLog } from "../../../test/fakes/quiet_log.ts";
import { runAdmission } from "../../src/admission/admission_client.ts";
import {
  AdmissionDesk,
  type AdmissionDeskOptions,
  type ProvedPeer,
} from "../../src/admission/admission_desk.ts";
import type { AdmissionWay } from "../../src/admission/admission_way.ts";
import type { AdmissionOutcome } from "../../src/admission/admission_outcome.ts";
import { type KeyHash, parseKeyHash } from "../../src/identity/key_hash.ts";

/** The key hash of a node that exists only by its name. */
export function keyHashOf(name: string): KeyHash {
  const hash = parseKeyHash(createHash("sha256").update(name).digest("hex"));
  if (hash === undefined) throw new Error("A digest is a key hash");
  return hash;
}

/** The password that honest nodes share. */
export const PASSWORD: Uint8Array = new TextEncoder().encode(
  "what the secret becomes",
);
/** What the responder tells those it admits. */
export const ROWS: JsonObject = { rows: [{ name: "responder-row" }] };
/** What the initiator says about itself. */
export const NAME: JsonObject = { name: "initiator-name" };

/** A desk with what it did and logged. */
export interface DeskUnderTest {
  readonly desk: AdmissionDesk;
  readonly clock: ManualClock;
  readonly log: QuietLog;
  readonly own: KeyHash;
  readonly admitted: { peer: ProvedPeer; payload: JsonObject }[];
}

/** Build a desk; whatever is not given is honest and repeatable. */
export function deskOf(
  name: string,
  options: Partial<AdmissionDeskOptions> & { seed?: number } = {},
): DeskUnderTest {
  const clock = new ManualClock();
  const log = new QuietLog();
  const own = keyHashOf(name);
  const admitted: { peer: ProvedPeer; payload: JsonObject }[] = [];
  const desk = new AdmissionDesk({
    clock,
    entropy: createSeededEntropy(options.seed ?? 7),
    log,
    own,
    passwordOf: () => Promise.resolve(PASSWORD),
    admit(peer, payload) {
      admitted.push({ peer, payload });
      return Promise.resolve({ kind: "admitted", payload: ROWS });
    },
    ...options,
  });
  return { desk, clock, log, own, admitted };
}

/** What one exchange put on the wire, request and reply in turn. */
export interface Wire {
  readonly requests: Uint8Array<ArrayBuffer>[];
  readonly replies: Uint8Array[];
}

/** What a test may change about an asking node. */
export interface AskOptions {
  readonly way?: AdmissionWay;
  readonly prs?: Uint8Array;
  /** The key hash the initiator took from TLS. */
  readonly peer?: KeyHash;
  /** The node whose key the desk took from TLS, when a relay stands between. */
  readonly seenAs?: string;
  readonly seed?: number;
  readonly wire?: Wire;
  /** Happens before a message goes out; `turn` counts from 0. */
  readonly beforeRequest?: (
    message: Uint8Array<ArrayBuffer>,
    turn: number,
  ) => Promise<void>;
  /** Changes or answers a message on its way; `turn` counts from 0. */
  readonly onRequest?: (
    bytes: Uint8Array<ArrayBuffer>,
    turn: number,
  ) => Uint8Array<ArrayBuffer>;
  readonly onReply?: (
    bytes: Uint8Array<ArrayBuffer>,
    turn: number,
  ) => Uint8Array<ArrayBuffer>;
}

/** Let a node ask a desk for admission. */
export function ask(
  name: string,
  { desk, own }: DeskUnderTest,
  options: AskOptions = {},
): Promise<AdmissionOutcome> {
  const keyHash = keyHashOf(name);
  let turn = 0;
  return runAdmission({
    way: options.way ?? { kind: "secret", slot: 0 },
    prs: options.prs ?? PASSWORD,
    own: keyHash,
    peer: options.peer ?? own,
    payload: NAME,
    // Two machines, two clocks.
    clock: new ManualClock(),
    entropy: createSeededEntropy(options.seed ?? 1),
    signal: new AbortController().signal,
    async send(message) {
      const at = turn++;
      await options.beforeRequest?.(message, at);
      const request = options.onRequest?.(message, at) ?? message;
      options.wire?.requests.push(request);
      const answer = await desk.receive(request, {
        keyHash: keyHashOf(options.seenAs ?? name),
        address: `address of ${name}`,
      });
      const reply = options.onReply?.(answer, at) ?? answer;
      options.wire?.replies.push(reply);
      return reply;
    },
  });
}

/** A message as the object it holds. */
export function objectOf(bytes: Uint8Array): Record<string, unknown> {
  return JSON.parse(new TextDecoder().decode(bytes));
}

/** An object as a message. */
export function bytesOf(message: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(message));
}
