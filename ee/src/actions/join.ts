import { Fault } from "@covey/core/domain";
import type { Platform } from "@covey/core/platform";
import { codePassword } from "../invitation/join_code.ts";
import { LinkError } from "../link/link_error.ts";
import { formatAddress, type LinkAddress } from "../link/link_address.ts";
import type {
  AdmissionOffice,
  HeldInvitation,
  InvitedOutcome,
} from "../membership/admission_office.ts";
import type { Met } from "../membership/dialer.ts";
import type { ActionMeans } from "./action_means.ts";
import type { JoinBody } from "./bodies.ts";

/** Most times that one invitation is tried. */
const MOST_TRIES = 5;
const BUSY_PAUSE_MS = 1_000;
/** Dialling and all tries; the command line waits 30 s. */
const JOIN_LIMIT_MS = 25_000;

/** What joining takes; there may be no cluster yet. */
export interface JoinMeans {
  readonly office: AdmissionOffice;
  readonly own: ActionMeans["own"];
  readonly platform: Platform;
  readonly dial: ActionMeans["dial"];
}

/** A node that was let in. */
export interface Joined extends Extract<InvitedOutcome, { kind: "joined" }> {
  readonly issuer: ActionMeans["own"];
  readonly address: LinkAddress;
}

/**
 * Join with an invitation: the issuer it names is tried, and nobody else.
 *
 * @throws {Fault} Why it did not come to it.
 */
export async function join(
  body: JoinBody,
  means: JoinMeans,
  signal: AbortSignal,
): Promise<Joined> {
  using deadline = means.platform.clock.deadline(JOIN_LIMIT_MS, signal);
  const met = await meet(body, means, deadline.signal);
  using channel = met.channel;
  if (channel.keyHash === means.own) {
    throw new Fault(
      "invalid_request",
      "This node issued that invitation itself; use it on another one",
    );
  }
  const outcome = await ask(met, invitationOf(body), means, deadline.signal);
  switch (outcome.kind) {
    case "joined":
      return { ...outcome, issuer: channel.keyHash, address: met.address };
    case "refused":
      throw new Fault("forbidden", outcome.reason);
    case "failed":
      throw failureOf(outcome, body, met.address);
    default:
      return outcome satisfies never;
  }
}

function invitationOf(body: JoinBody): HeldInvitation {
  return body.kind === "token"
    ? {
      way: { kind: "token", id: body.token.id },
      password: body.token.key,
    }
    : { way: { kind: "code" }, password: codePassword(body.code) };
}

async function meet(
  body: JoinBody,
  { dial }: JoinMeans,
  signal: AbortSignal,
): Promise<Met> {
  const [addresses, expected] = body.kind === "token"
    ? [body.token.addresses, body.token.issuer]
    : [[body.at], null];
  try {
    return await dial(addresses, expected, signal);
  } catch (error) {
    signal.throwIfAborted();
    const where = addresses.map(formatAddress).join(", ");
    const isOther = error instanceof LinkError && error.problem === "identity";
    throw new Fault(
      "link_failed",
      isOther
        ? `Another node than the issuer answers at ${where}; ask for a new invitation`
        : `The issuer can not be reached at ${where}; is it running, and does a firewall keep its link port closed?`,
      { cause: error },
    );
  }
}

/** Only a busy issuer is asked again: any other answer would be the same again. */
async function ask(
  met: Met,
  invitation: HeldInvitation,
  { office, platform }: JoinMeans,
  signal: AbortSignal,
): Promise<InvitedOutcome> {
  for (let tries = 1;; tries++) {
    const outcome = await office.askInvited(met, invitation, signal);
    const busy = outcome.kind === "failed" && outcome.problem === "busy";
    if (!busy || tries >= MOST_TRIES) return outcome;
    await platform.clock.sleep(BUSY_PAUSE_MS, signal);
  }
}

function failureOf(
  { cause, problem }: Extract<InvitedOutcome, { kind: "failed" }>,
  body: JoinBody,
  address: LinkAddress,
): Fault {
  const where = formatAddress(address);
  return problem === "no_match"
    ? new Fault(
      "forbidden",
      body.kind === "token"
        ? "The issuer does not know this token: it has expired, was used, or the issuer was restarted. Ask for a new one with `covey invite`"
        : `The node at ${where} has no such code: it is mistyped, has expired, was used, or was voided by too many tries. Ask for a new one with \`covey invite --code\``,
    )
    : new Fault(
      "link_failed",
      problem === "busy"
        ? `The node at ${where} is busy with other admissions; try again`
        : `The node at ${where} did not finish the admission; try again`,
      { cause },
    );
}
