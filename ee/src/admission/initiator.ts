/**
 * The asking side of the exchange, without transport: each function takes the
 * state the one before it left and the reply that came, so that no step can be
 * taken twice or out of order.
 *
 * @module
 */
import type { JsonObject } from "@covey/core/domain";
import type { AdmissionVerdict } from "./admission_outcome.ts";
import { beginCpace, type CpaceGroup, finishCpace } from "./cpace.ts";
import {
  type AdmissionReply,
  type AdmissionRequest,
  parseVerdict,
} from "./messages.ts";
import {
  confirmedContent,
  cpaceInputs,
  type RunTerms,
  SessionKeys,
} from "./session_keys.ts";

/** What the initiator knows before the responder has answered. */
export type InitiatorTerms = Omit<RunTerms, "responderNonce">;

/** The initiator has sent its proof and awaits the responder's. */
export interface InitiatorConfirming {
  readonly state: "confirming";
  readonly run: string;
  readonly keys: SessionKeys;
  readonly confirmed: Uint8Array;
}

/** Both sides are proved and the initiator has said who it is. */
export interface InitiatorPresenting {
  readonly state: "presenting";
  readonly keys: SessionKeys;
}

/** The next message with the state that belongs to it. */
export interface InitiatorStep<State> {
  readonly state: State;
  readonly request: AdmissionRequest;
}

/**
 * Open a run. The message holds nothing that depends on the password.
 *
 * @param terms The run's terms.
 * @returns The message to send.
 */
export function askHello(terms: InitiatorTerms): AdmissionRequest {
  return { step: "hello", way: terms.way, nonce: terms.initiatorNonce };
}

/**
 * Answer the responder's share with this side's own and the proof of the key.
 *
 * @param terms The run's terms.
 * @param reply What the responder answered to the hello.
 * @param group The group.
 * @param random 32 fresh random bytes.
 * @returns The next step, or undefined when the reply ends the run.
 */
export function askConfirm(
  terms: InitiatorTerms,
  reply: AdmissionReply,
  group: CpaceGroup,
  random: Uint8Array,
): InitiatorStep<InitiatorConfirming> | undefined {
  if (terms.initiator === terms.responder) return undefined;
  if (reply.step !== "hello") return undefined;
  const inputs = cpaceInputs({ ...terms, responderNonce: reply.nonce });
  const own = beginCpace(group, inputs, random);
  const transcript = {
    initiatorShare: own.share,
    responderShare: reply.share,
  };
  const isk = finishCpace(
    group,
    own.scalar,
    reply.share,
    inputs.sid,
    transcript,
  );
  if (isk === undefined) return undefined;
  const keys = new SessionKeys(isk, inputs.sid);
  const confirmed = confirmedContent(transcript);
  return {
    state: { state: "confirming", run: reply.run, keys, confirmed },
    request: {
      step: "confirm",
      run: reply.run,
      share: own.share,
      tag: keys.tag("initiator confirms", confirmed),
    },
  };
}

/**
 * Verify the responder's proof; only then does the payload leave.
 *
 * @param state Where the run is.
 * @param reply What the responder answered to the confirmation.
 * @param payload What to say to a proved responder.
 * @returns The next step, or undefined when the proof is wrong.
 */
export function askPresent(
  state: InitiatorConfirming,
  reply: AdmissionReply,
  payload: JsonObject,
): InitiatorStep<InitiatorPresenting> | undefined {
  if (reply.step !== "confirm") return undefined;
  if (!state.keys.verify("responder confirms", state.confirmed, reply.tag)) {
    return undefined;
  }
  const text = JSON.stringify(payload);
  return {
    state: { state: "presenting", keys: state.keys },
    request: {
      step: "present",
      run: state.run,
      payload: text,
      tag: state.keys.tag(
        "initiator payload",
        new TextEncoder().encode(text),
      ),
    },
  };
}

/**
 * Read the verdict.
 *
 * @param state Where the run is.
 * @param reply What the responder answered to the payload.
 * @returns The verdict, or undefined when it is not the responder's.
 */
export function readVerdict(
  state: InitiatorPresenting,
  reply: AdmissionReply,
): AdmissionVerdict | undefined {
  if (reply.step !== "verdict") return undefined;
  const content = new TextEncoder().encode(reply.payload);
  if (!state.keys.verify("responder payload", content, reply.tag)) {
    return undefined;
  }
  return parseVerdict(reply.payload);
}
