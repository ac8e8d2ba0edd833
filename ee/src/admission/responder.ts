/**
 * The answering side of the exchange, without transport. It verifies the
 * initiator's proof before it gives its own, so that each run lets a stranger
 * test one guess, and a listener none.
 *
 * @module
 */
import type { JsonObject } from "@covey/core/domain";
import type { AdmissionVerdict } from "./admission_outcome.ts";
import { beginCpace, type CpaceGroup, finishCpace } from "./cpace.ts";
import {
  type AdmissionReply,
  type AdmissionRequest,
  parsePayload,
} from "./messages.ts";
import {
  confirmedContent,
  cpaceInputs,
  type RunTerms,
  SessionKeys,
} from "./session_keys.ts";

/** The responder has sent its share and awaits the initiator's proof. */
export interface ResponderGreeted {
  readonly state: "greeted";
  readonly sid: Uint8Array;
  readonly scalar: Uint8Array;
  readonly share: Uint8Array;
}

/** Both sides are proved; the initiator's payload may come. */
export interface ResponderConfirmed {
  readonly state: "confirmed";
  readonly keys: SessionKeys;
}

/** The reply with the state that belongs to it. */
export interface ResponderStep<State> {
  readonly state: State;
  readonly reply: AdmissionReply;
}

/**
 * Answer a hello with this side's share.
 *
 * @param terms The run's terms.
 * @param run Name of the run, which the initiator repeats.
 * @param group The group.
 * @param random 32 fresh random bytes.
 * @returns The reply, or undefined when both key hashes are one.
 */
export function answerHello(
  terms: RunTerms,
  run: string,
  group: CpaceGroup,
  random: Uint8Array,
): ResponderStep<ResponderGreeted> | undefined {
  if (terms.initiator === terms.responder) return undefined;
  const inputs = cpaceInputs(terms);
  const own = beginCpace(group, inputs, random);
  return {
    state: {
      state: "greeted",
      sid: inputs.sid,
      scalar: own.scalar,
      share: own.share,
    },
    reply: {
      step: "hello",
      run,
      nonce: terms.responderNonce,
      share: own.share,
    },
  };
}

/**
 * Verify the initiator's proof and answer it with this side's.
 *
 * @param state Where the run is.
 * @param request The message.
 * @param group The group.
 * @returns The next step, or undefined when the run is over: a run has one try.
 */
export function answerConfirm(
  state: ResponderGreeted,
  request: AdmissionRequest,
  group: CpaceGroup,
): ResponderStep<ResponderConfirmed> | undefined {
  if (request.step !== "confirm") return undefined;
  const transcript = {
    initiatorShare: request.share,
    responderShare: state.share,
  };
  const isk = finishCpace(
    group,
    state.scalar,
    request.share,
    state.sid,
    transcript,
  );
  if (isk === undefined) return undefined;
  const keys = new SessionKeys(isk, state.sid);
  const confirmed = confirmedContent(transcript);
  if (!keys.verify("initiator confirms", confirmed, request.tag)) {
    return undefined;
  }
  return {
    state: { state: "confirmed", keys },
    reply: {
      step: "confirm",
      tag: keys.tag("responder confirms", confirmed),
    },
  };
}

/**
 * Read what a proved initiator says.
 *
 * @param state Where the run is.
 * @param request The message.
 * @returns The payload, or undefined when it is not the initiator's.
 */
export function readPayload(
  state: ResponderConfirmed,
  request: AdmissionRequest,
): JsonObject | undefined {
  if (request.step !== "present") return undefined;
  const content = new TextEncoder().encode(request.payload);
  if (!state.keys.verify("initiator payload", content, request.tag)) {
    return undefined;
  }
  return parsePayload(request.payload);
}

/**
 * Tell a proved initiator the verdict.
 *
 * @param state Where the run is.
 * @param verdict The verdict.
 * @returns The reply that ends the run.
 */
export function answerVerdict(
  state: ResponderConfirmed,
  verdict: AdmissionVerdict,
): AdmissionReply {
  const text = JSON.stringify(verdict);
  return {
    step: "verdict",
    payload: text,
    tag: state.keys.tag("responder payload", new TextEncoder().encode(text)),
  };
}
