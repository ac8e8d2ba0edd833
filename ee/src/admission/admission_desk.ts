import type { JsonObject, Log } from "@covey/core/domain";
import type { Clock, Entropy } from "@covey/core/platform";
import type { KeyHash } from "../identity/key_hash.ts";
import type { AdmissionWay } from "./admission_way.ts";
import type { AdmissionVerdict } from "./admission_outcome.ts";
import { type CpaceGroup, loadCpaceGroup, POINT_BYTES } from "./cpace.ts";
import { FailureLog } from "./failure_log.ts";
import {
  type AdmissionReply,
  type AdmissionRequest,
  encodeMessage,
  NONCE_BYTES,
  parseAdmissionRequest,
  PAYLOAD_LIMIT_BYTES,
  RUN_BYTES,
  UNPROVED_LIMIT_BYTES,
} from "./messages.ts";
import {
  answerConfirm,
  answerHello,
  answerVerdict,
  readPayload,
  type ResponderConfirmed,
  type ResponderGreeted,
} from "./responder.ts";
import { TokenBucket } from "./token_bucket.ts";

const RUNS_PER_SECOND = 10;
const MOST_RUNS = 64;
const RUN_LIFE_MS = 10_000;
/** Length of the password that stands in where there is none. */
const DECOY_BYTES = 32;

/** Who sends a message, as TLS proved it. */
export interface AdmissionPeer {
  readonly keyHash: KeyHash;
  /** Remote address, for the log. */
  readonly address: string;
}

/** A peer that has proved the password. */
export interface ProvedPeer extends AdmissionPeer {
  readonly way: AdmissionWay;
}

/** What the desk needs. */
export interface AdmissionDeskOptions {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  /** This node's own key hash. */
  readonly own: KeyHash;
  /**
   * The password of one way in, asked once per run; null when that way is
   * closed. A stranger cannot tell null from a password it does not know. The
   * promise settles within a second or so: it may wait for a derivation.
   */
  readonly passwordOf: (way: AdmissionWay) => Promise<Uint8Array | null>;
  /**
   * Decide on a peer that proved the password, and write its row. Called once
   * per run; the same peer may come again when an answer was lost.
   */
  readonly admit: (
    peer: ProvedPeer,
    payload: JsonObject,
  ) => Promise<AdmissionVerdict>;
  /** A peer failed to prove the password; told once per key hash and minute. */
  readonly onRefused?: (way: AdmissionWay, peer: AdmissionPeer) => void;
}

interface OpenRun {
  readonly run: string;
  readonly way: AdmissionWay;
  readonly group: CpaceGroup;
  readonly untilMs: number;
  readonly progress: ResponderGreeted | ResponderConfirmed;
}

/**
 * The answering end of admission: takes what strangers send and admits those
 * that prove the password. At most 10 runs begin in a second and 64 are open,
 * one per key hash; a run lives for 10 s and has one try. Every failure but a
 * reached limit has the same answer.
 */
export class AdmissionDesk {
  readonly #options: AdmissionDeskOptions;
  /** Failed proofs, apart from noise, so that noise cannot hide a guess. */
  readonly #failures: FailureLog;
  readonly #noise: FailureLog;
  readonly #bucket: TokenBucket;
  /** Oldest first. A run leaves the table before its message is looked at. */
  readonly #runs = new Map<KeyHash, OpenRun>();
  #opening = 0;

  /**
   * @param options What the desk needs.
   */
  constructor(options: AdmissionDeskOptions) {
    this.#options = options;
    this.#failures = new FailureLog(options.log);
    this.#noise = new FailureLog(options.log);
    this.#bucket = new TokenBucket(
      RUNS_PER_SECOND,
      RUNS_PER_SECOND,
      options.clock.monotonic(),
    );
  }

  /** Runs that are open now, expired ones included until the next message. */
  get openRuns(): number {
    return this.#runs.size;
  }

  /**
   * How long a body may be that the link reads for this peer: little until
   * both sides are proved.
   *
   * @param keyHash Who sends.
   * @returns The limit in bytes.
   */
  bodyLimitBytes(keyHash: KeyHash): number {
    return this.#runs.get(keyHash)?.progress.state === "confirmed"
      ? PAYLOAD_LIMIT_BYTES
      : UNPROVED_LIMIT_BYTES;
  }

  /**
   * Take one message and answer it.
   *
   * @param body What came.
   * @param peer Who sent it.
   * @returns The reply's bytes; never throws.
   */
  async receive(
    body: Uint8Array,
    peer: AdmissionPeer,
  ): Promise<Uint8Array<ArrayBuffer>> {
    try {
      return encodeMessage(await this.#answer(body, peer));
    } catch (error) {
      this.#options.log.error("Failed to handle an admission message", {
        address: peer.address,
        error: error instanceof Error ? error.message : String(error),
      });
      return encodeMessage({ step: "refused" });
    }
  }

  async #answer(
    body: Uint8Array,
    peer: AdmissionPeer,
  ): Promise<AdmissionReply> {
    this.#expire();
    if (peer.keyHash === this.#options.own) return { step: "refused" };
    const request = parseAdmissionRequest(
      body,
      this.bodyLimitBytes(peer.keyHash),
    );
    if (request === undefined) {
      this.#runs.delete(peer.keyHash);
      return this.#refuse(
        this.#noise,
        "A node sent an admission message that is none",
        peer,
      );
    }
    if (request.step === "hello") return await this.#open(request, peer);
    const open = this.#runs.get(peer.keyHash);
    this.#runs.delete(peer.keyHash);
    if (open === undefined || open.run !== request.run) {
      return this.#refuse(
        this.#noise,
        "A node spoke of an admission run that is over",
        peer,
      );
    }
    switch (open.progress.state) {
      case "greeted":
        return this.#confirm(open, open.progress, request, peer);
      case "confirmed":
        return await this.#admit(open, open.progress, request, peer);
      default:
        return open.progress satisfies never;
    }
  }

  async #open(
    request: Extract<AdmissionRequest, { step: "hello" }>,
    peer: AdmissionPeer,
  ): Promise<AdmissionReply> {
    const { clock, entropy, own, passwordOf } = this.#options;
    const nowMs = clock.monotonic();
    if (this.#opening >= MOST_RUNS || !this.#bucket.take(nowMs)) {
      return { step: "busy" };
    }
    this.#opening++;
    try {
      const [group, password] = await Promise.all([
        loadCpaceGroup(),
        passwordOf(request.way),
      ]);
      const run = entropy.bytes(RUN_BYTES).toHex();
      const step = answerHello(
        {
          way: request.way,
          prs: password ?? entropy.bytes(DECOY_BYTES),
          initiator: peer.keyHash,
          responder: own,
          initiatorNonce: request.nonce,
          responderNonce: entropy.bytes(NONCE_BYTES),
        },
        run,
        group,
        entropy.bytes(POINT_BYTES),
      );
      if (step === undefined) return { step: "refused" };
      this.#keep(peer.keyHash, {
        run,
        way: request.way,
        group,
        untilMs: nowMs + RUN_LIFE_MS,
        progress: step.state,
      });
      return step.reply;
    } finally {
      this.#opening--;
    }
  }

  #confirm(
    open: OpenRun,
    progress: ResponderGreeted,
    request: AdmissionRequest,
    peer: AdmissionPeer,
  ): AdmissionReply {
    const step = answerConfirm(progress, request, open.group);
    if (step === undefined) {
      return this.#refuse(
        this.#failures,
        `A node failed to prove that it knows the ${open.way.kind}`,
        peer,
        open.way,
      );
    }
    this.#keep(peer.keyHash, { ...open, progress: step.state });
    return step.reply;
  }

  async #admit(
    open: OpenRun,
    progress: ResponderConfirmed,
    request: AdmissionRequest,
    peer: AdmissionPeer,
  ): Promise<AdmissionReply> {
    const payload = readPayload(progress, request);
    if (payload === undefined) {
      return this.#refuse(
        this.#failures,
        "A node garbled its admission",
        peer,
      );
    }
    const verdict = await this.#options.admit(
      { keyHash: peer.keyHash, address: peer.address, way: open.way },
      payload,
    );
    return answerVerdict(progress, verdict);
  }

  /** A new run takes the place of the peer's old one, or else of the oldest. */
  #keep(keyHash: KeyHash, run: OpenRun): void {
    this.#runs.delete(keyHash);
    if (this.#runs.size >= MOST_RUNS) {
      // Honest runs take milliseconds: whoever waits longest is the one to drop.
      for (const oldest of this.#runs.keys()) {
        this.#runs.delete(oldest);
        break;
      }
    }
    this.#runs.set(keyHash, run);
  }

  #expire(): void {
    const nowMs = this.#options.clock.monotonic();
    for (const [keyHash, run] of this.#runs) {
      if (run.untilMs <= nowMs) this.#runs.delete(keyHash);
    }
  }

  #refuse(
    log: FailureLog,
    message: string,
    peer: AdmissionPeer,
    way?: AdmissionWay,
  ): AdmissionReply {
    const isNews = log.note(
      message,
      peer.keyHash,
      peer.address,
      this.#options.clock.monotonic(),
    );
    if (isNews && way !== undefined) this.#options.onRefused?.(way, peer);
    return { step: "refused" };
  }
}
