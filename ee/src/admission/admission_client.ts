import type { JsonObject } from "@covey/core/domain";
import { type Clock, type Entropy, orAborted } from "@covey/core/platform";
import type { KeyHash } from "../identity/key_hash.ts";
import type { AdmissionWay } from "./admission_way.ts";
import type {
  AdmissionOutcome,
  AdmissionProblem,
} from "./admission_outcome.ts";
import { loadCpaceGroup, POINT_BYTES } from "./cpace.ts";
import {
  askConfirm,
  askHello,
  askPresent,
  type InitiatorTerms,
  readVerdict,
} from "./initiator.ts";
import {
  type AdmissionReply,
  type AdmissionRequest,
  encodeMessage,
  NONCE_BYTES,
  parseAdmissionReply,
  PAYLOAD_LIMIT_BYTES,
  UNPROVED_LIMIT_BYTES,
} from "./messages.ts";

/** Longest time for a whole exchange; the other side keeps a run for 10 s. */
const EXCHANGE_MS = 8_000;

/** What one exchange needs. */
export interface AdmissionOptions {
  readonly way: AdmissionWay;
  /** The password: derived from the secret, the token's key, or the code. */
  readonly prs: Uint8Array;
  /** This node's own key hash. */
  readonly own: KeyHash;
  /** Key hash of the other side, as this side took it from TLS. */
  readonly peer: KeyHash;
  /** What to say once both sides are proved. */
  readonly payload: JsonObject;
  /**
   * Carry one message to that very key and bring the reply's bytes. It is
   * called up to three times, never two at once.
   */
  readonly send: (
    message: Uint8Array<ArrayBuffer>,
    signal: AbortSignal,
  ) => Promise<Uint8Array>;
  readonly clock: Clock;
  readonly entropy: Entropy;
  /** Aborting it ends the exchange. */
  readonly signal: AbortSignal;
}

/**
 * Ask a node for admission.
 *
 * @param options What the exchange needs.
 * @returns How it ended; the payload leaves only towards a proved peer.
 * @throws The signal's reason when the signal aborts, and a `RangeError` when
 *   the payload is too long for a message.
 */
export async function runAdmission(
  options: AdmissionOptions,
): Promise<AdmissionOutcome> {
  const { clock, entropy, signal } = options;
  signal.throwIfAborted();
  if (options.own === options.peer) return failed("self");
  const group = await loadCpaceGroup();
  using deadline = clock.deadline(EXCHANGE_MS, signal);
  const terms: InitiatorTerms = {
    way: options.way,
    prs: options.prs,
    initiator: options.own,
    responder: options.peer,
    initiatorNonce: entropy.bytes(NONCE_BYTES),
  };
  const hello = await ask(
    options,
    askHello(terms),
    deadline.signal,
  );
  if (hello.step === "failed") return hello.outcome;
  const confirm = askConfirm(terms, hello, group, entropy.bytes(POINT_BYTES));
  if (confirm === undefined) return failed("no_match");

  const proof = await ask(options, confirm.request, deadline.signal);
  if (proof.step === "failed") return proof.outcome;
  const present = askPresent(confirm.state, proof, options.payload);
  if (present === undefined) return failed("no_match");

  const answer = await ask(options, present.request, deadline.signal);
  if (answer.step === "failed") return answer.outcome;
  return readVerdict(present.state, answer) ?? failed("no_match");
}

/** A reply, or how the exchange ended for want of one. */
type Asked =
  | Exclude<AdmissionReply, { step: "busy" }>
  | { readonly step: "failed"; readonly outcome: AdmissionOutcome };

async function ask(
  options: AdmissionOptions,
  request: AdmissionRequest,
  deadline: AbortSignal,
): Promise<Asked> {
  const message = encodeMessage(request);
  let bytes: Uint8Array;
  try {
    bytes = await orAborted(options.send(message, deadline), deadline);
  } catch (error) {
    options.signal.throwIfAborted();
    return {
      step: "failed",
      outcome: failed(deadline.aborted ? "timeout" : "unreachable", error),
    };
  }
  const reply = parseAdmissionReply(
    bytes,
    request.step === "present" ? PAYLOAD_LIMIT_BYTES : UNPROVED_LIMIT_BYTES,
  );
  if (reply === undefined) {
    return { step: "failed", outcome: failed("no_match") };
  }
  return reply.step === "busy"
    ? { step: "failed", outcome: failed("busy") }
    : reply;
}

function failed(problem: AdmissionProblem, cause?: unknown): AdmissionOutcome {
  return { kind: "failed", problem, cause };
}
