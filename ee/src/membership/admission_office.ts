import type { JsonObject, Log } from "@covey/core/domain";
import type { Clock, Entropy } from "@covey/core/platform";
import { runAdmission } from "../admission/admission_client.ts";
import type { ProvedPeer } from "../admission/admission_desk.ts";
import type {
  AdmissionOutcome,
  AdmissionVerdict,
} from "../admission/admission_outcome.ts";
import { LinkError } from "../link/link_error.ts";
import { ADMISSION_PATH } from "../link/link_server.ts";
import type { AddressBook } from "./address_book.ts";
import {
  encodeAdmissionPayload,
  parseAdmissionPayload,
} from "./admission_payload.ts";
import type { Met } from "./dialer.ts";
import type { Applicant, Membership } from "./membership.ts";

const REPLY_LIMIT_BYTES = 2 ** 21;
const REPLY_LIMIT_MS = 5000;

/** What admissions need on this node. */
export interface OfficeOptions {
  readonly self: Applicant;
  readonly membership: Membership;
  readonly book: AddressBook;
  /** Port of this node's link. */
  linkPort(): number;
  /** Passwords to try as the asking side, in order. */
  readonly passwords: readonly Uint8Array[];
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
}

/** Both ends of an admission, once it comes to rows. */
export class AdmissionOffice {
  readonly #options: OfficeOptions;

  constructor(options: OfficeOptions) {
    this.#options = options;
  }

  /** Decide on a node that proved the password. */
  decide(proved: ProvedPeer, said: JsonObject): AdmissionVerdict {
    const { book, log, membership } = this.#options;
    const { address, keyHash } = proved;
    const payload = parseAdmissionPayload(said);
    if (payload === undefined) {
      return {
        kind: "refused",
        reason: "Failed to read who asks for admission; update Covey there",
      };
    }
    const { id, linkPort, name } = payload;
    const seat = membership.seat({ id, keyHash, name }, payload.rows);
    if (seat.kind === "refused") {
      log.warn("A node was not admitted", {
        name,
        address,
        reason: seat.reason,
      });
      return seat;
    }
    book.hint(keyHash, { host: address, port: linkPort });
    return { kind: "admitted", payload: this.#payload() };
  }

  /** Ask a node for admission with each password in turn, and take it in. */
  async ask(met: Met, signal: AbortSignal): Promise<AdmissionOutcome> {
    let outcome: AdmissionOutcome = { kind: "failed", problem: "no_match" };
    for (const prs of this.#options.passwords) {
      outcome = await this.#run(met, prs, signal);
      const another = outcome.kind === "failed" &&
        outcome.problem === "no_match";
      if (!another) break;
    }
    return outcome.kind === "admitted" ? this.#takeIn(met, outcome) : outcome;
  }

  #run(
    { channel }: Met,
    prs: Uint8Array,
    signal: AbortSignal,
  ): Promise<AdmissionOutcome> {
    const { clock, entropy, self } = this.#options;
    return runAdmission({
      way: { kind: "secret", slot: 0 },
      prs,
      own: self.keyHash,
      peer: channel.keyHash,
      payload: this.#payload(),
      send: async (message, sending) => {
        const exchange = await channel.request({
          method: "POST",
          path: ADMISSION_PATH,
          headers: { "content-type": "application/json" },
          body: message,
          headLimitMs: REPLY_LIMIT_MS,
          signal: sending,
        });
        const reply = await exchange.readAll(REPLY_LIMIT_BYTES, REPLY_LIMIT_MS);
        if (exchange.status === 200) return reply;
        throw new LinkError(
          "protocol",
          `The node answered with status ${exchange.status}`,
        );
      },
      clock,
      entropy,
      signal,
    });
  }

  #takeIn(
    { channel }: Met,
    verdict: Extract<AdmissionOutcome, { kind: "admitted" }>,
  ): AdmissionOutcome {
    const { membership, log } = this.#options;
    const payload = parseAdmissionPayload(verdict.payload);
    const row = payload?.rows.find(({ keyHash }) =>
      keyHash === channel.keyHash
    );
    if (payload === undefined || row === undefined) {
      return { kind: "failed", problem: "no_match" };
    }
    const pinned = membership.keyOf(payload.id);
    if (pinned !== undefined && pinned !== channel.keyHash) {
      const reason =
        `Identity changed: the id "${payload.id}" of "${payload.name}" is pinned to another key here`;
      log.warn(reason);
      return { kind: "refused", reason };
    }
    membership.merge(payload.rows, payload.name);
    return verdict;
  }

  /** This node first and what it was told last, so that nothing needed is cut. */
  #payload(): JsonObject {
    const { linkPort, membership, self } = this.#options;
    const rows = membership.rows();
    const own = rows.filter(({ keyHash }) => keyHash === self.keyHash);
    const others = rows.filter(({ keyHash }) => keyHash !== self.keyHash);
    return encodeAdmissionPayload({
      id: self.id,
      name: self.name,
      linkPort: linkPort(),
      rows: [...own, ...others.reverse()],
    });
  }
}
