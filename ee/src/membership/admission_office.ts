import type { JsonObject, Log } from "@covey/core/domain";
import type { Clock, Entropy } from "@covey/core/platform";
import { runAdmission } from "../admission/admission_client.ts";
import type { ProvedPeer } from "../admission/admission_desk.ts";
import type {
  AdmissionOutcome,
  AdmissionVerdict,
} from "../admission/admission_outcome.ts";
import type { AdmissionWay } from "../admission/admission_way.ts";
import type { AuditLog } from "../audit/audit_log.ts";
import type { KeyHash } from "../identity/key_hash.ts";
import type { Invitations } from "../invitation/invitations.ts";
import { isLoopback } from "../link/link_address.ts";
import { LinkError } from "../link/link_error.ts";
import { ADMISSION_PATH } from "../link/link_server.ts";
import type { AddressBook } from "./address_book.ts";
import {
  type AdmissionPayload,
  encodeAdmissionPayload,
  parseAdmissionPayload,
} from "./admission_payload.ts";
import type { Met } from "./dialer.ts";
import type { DoorKeeper } from "./door_keeper.ts";
import type { Applicant, Membership } from "./membership.ts";
import type { Notes } from "./notes.ts";
import type { SecretRing } from "./secret_ring.ts";

const REPLY_LIMIT_BYTES = 2 ** 21;
const REPLY_LIMIT_MS = 5000;
const DOOR_SHUT =
  "The door of this cluster is closed: its secret alone lets nobody in. Invite with `covey invite`, or open it with `covey door open`";

/** What admissions need on this node. */
export interface OfficeOptions {
  readonly self: Applicant;
  readonly membership: Membership;
  readonly book: AddressBook;
  /** Where refusals are kept for the operators of both sides. */
  readonly notes?: Notes;
  /** Port of this node's link; 0 while it is not known. */
  linkPort(): number;
  readonly secrets: SecretRing;
  readonly door: DoorKeeper;
  /** Null where this node can not invite: it is in no cluster yet. */
  readonly invitations: Invitations | null;
  /** Labels of the cluster this node is in; none where it is in none. */
  readonly clusterIds: readonly string[];
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
}

/** An invitation as its bearer holds it. */
export interface HeldInvitation {
  readonly way: Exclude<AdmissionWay, { kind: "secret" }>;
  readonly password: Uint8Array<ArrayBuffer>;
}

/** How asking with an invitation ended. */
export type InvitedOutcome =
  | {
    readonly kind: "joined";
    /** The cluster's label, by which this node keeps its table. */
    readonly clusterId: string;
    /** Name of the issuer. */
    readonly by: string;
  }
  | Exclude<AdmissionOutcome, { kind: "admitted" }>;

/** Both ends of an admission, once it comes to rows. */
export class AdmissionOffice {
  readonly #options: OfficeOptions;
  /** Runs of this node that are under way: a second one at the same node would end the first. */
  readonly #running = new Map<KeyHash, Promise<unknown>>();

  constructor(options: OfficeOptions) {
    this.#options = options;
  }

  /**
   * The password of a run that a stranger begins here, or null where there is
   * none. A shut door is no reason: who proves the secret is told of it.
   */
  passwordOf(way: AdmissionWay): Uint8Array<ArrayBuffer> | null {
    const { invitations, secrets } = this.#options;
    return way.kind === "secret"
      ? secrets.password(way.slot)
      : invitations?.passwordFor(way) ?? null;
  }

  /** Decide on a node that proved the password. */
  decide(proved: ProvedPeer, said: JsonObject): AdmissionVerdict {
    const { audit, book, door, invitations, membership, notes } = this.#options;
    const { address, keyHash, way } = proved;
    const payload = parseAdmissionPayload(said);
    if (payload === undefined) {
      return this.#refuse(
        proved,
        "A node",
        "Failed to read who asks for admission; update Covey there",
      );
    }
    const { id, linkPort, name } = payload;
    const problem = this.#problemWith(proved, payload);
    if (problem !== undefined) return this.#refuse(proved, name, problem);
    const seat = membership.seat(
      applicantOf(payload, keyHash),
      payload.rows,
      way.kind === "secret" ? "unasked" : "invited",
    );
    if (seat.kind === "refused") {
      const pinned = membership.keyOf(id);
      if (pinned !== undefined && pinned !== keyHash) {
        notes?.note(
          pinned,
          `Identity changed: a node at ${address} holds this id under another key and was refused; \`covey remove\` this one if the other is meant`,
        );
      }
      return this.#refuse(proved, name, seat.reason);
    }
    if (way.kind === "secret") door.align(payload.rotation + way.slot);
    else invitations?.use(way, keyHash);
    door.merge(payload.door, name);
    // From loopback it may have come through a tunnel, where its port is not
    // the one to dial; its first poll says which.
    if (linkPort !== 0 && !isLoopback(address)) {
      book.hint(keyHash, { host: address, port: linkPort });
    }
    audit.note({
      event: "admitted",
      way: way.kind,
      name,
      id,
      keyHash,
      address,
    });
    return { kind: "admitted", payload: this.#payload(way) };
  }

  /**
   * Ask a node for admission with the secrets in turn, and take it in. With a
   * shut door nobody is asked: whoever answered would be let in by it.
   */
  async ask(met: Met, signal: AbortSignal): Promise<AdmissionOutcome> {
    const { door, membership, notes, secrets } = this.#options;
    let outcome: AdmissionOutcome = { kind: "failed", problem: "closed" };
    for (const { own, theirs } of secrets.runs()) {
      const prs = secrets.password(own);
      if (prs === null || door.isShut(own)) continue;
      const way = { kind: "secret", slot: theirs } as const;
      outcome = await this.#run(met, way, prs, own, signal);
      if (outcome.kind === "admitted") {
        if (door.isShut(own)) return { kind: "failed", problem: "closed" };
        const taken = this.#takeIn(met, outcome);
        if (taken.kind !== "taken") return taken;
        door.align(taken.payload.rotation + own);
        notes?.noteOwn("admission", null);
        return outcome;
      }
      const another = outcome.kind === "failed" &&
        outcome.problem === "no_match";
      if (!another) break;
    }
    // In a cluster it is the other one that stays outside, and shows it.
    if (outcome.kind === "refused" && membership.peers().length === 0) {
      notes?.noteOwn("admission", outcome.reason);
    }
    return outcome;
  }

  /** Ask the issuer of an invitation for admission, and take its cluster in. */
  async askInvited(
    met: Met,
    { password, way }: HeldInvitation,
    signal: AbortSignal,
  ): Promise<InvitedOutcome> {
    const { audit, door, notes } = this.#options;
    const outcome = await this.#run(met, way, password, 0, signal);
    if (outcome.kind !== "admitted") return outcome;
    const taken = this.#takeIn(met, outcome);
    if (taken.kind !== "taken") return taken;
    const { payload } = taken;
    if (payload.clusterId === undefined) {
      return { kind: "failed", problem: "no_match" };
    }
    door.align(payload.rotation);
    notes?.noteOwn("admission", null);
    audit.note({ event: "joined", way: way.kind, by: payload.name });
    return {
      kind: "joined",
      clusterId: payload.clusterId,
      by: payload.name,
    };
  }

  #problemWith(
    { keyHash, way }: ProvedPeer,
    payload: AdmissionPayload,
  ): string | undefined {
    const { clusterIds, door, invitations, membership } = this.#options;
    if (way.kind === "secret") {
      const isKnown = membership.memberOf(keyHash) !== undefined;
      return door.isShut(way.slot) && !isKnown ? DOOR_SHUT : undefined;
    }
    if (invitations?.admits(way, keyHash) !== true) {
      return `The ${way.kind} has expired or was used by another node; ask for a new one`;
    }
    const elsewhere = payload.clusters.length > 0 &&
      !payload.clusters.some((id) => clusterIds.includes(id));
    return elsewhere
      ? "That node is in another cluster: run `covey leave` there first, and unset COVEY_CLUSTER_SECRET if it is set"
      : undefined;
  }

  #refuse(
    { address, keyHash, way }: ProvedPeer,
    name: string,
    reason: string,
  ): AdmissionVerdict {
    const { audit, log } = this.#options;
    log.warn("A node was not admitted", { name, address, reason });
    audit.note({ event: "refused", way: way.kind, reason, keyHash, address });
    return { kind: "refused", reason };
  }

  async #run(
    met: Met,
    way: AdmissionWay,
    prs: Uint8Array,
    slot: 0 | 1,
    signal: AbortSignal,
  ): Promise<AdmissionOutcome> {
    const { keyHash } = met.channel;
    while (this.#running.has(keyHash)) {
      await this.#running.get(keyHash);
      signal.throwIfAborted();
    }
    const run = this.#exchange(met, way, prs, slot, signal);
    const over = run.then(() => {}, () => {});
    this.#running.set(keyHash, over);
    try {
      return await run;
    } finally {
      this.#running.delete(keyHash);
    }
  }

  #exchange(
    { channel }: Met,
    way: AdmissionWay,
    prs: Uint8Array,
    slot: 0 | 1,
    signal: AbortSignal,
  ): Promise<AdmissionOutcome> {
    const { clock, entropy, self } = this.#options;
    const ownWay = way.kind === "secret" ? { ...way, slot } : way;
    return runAdmission({
      way,
      prs,
      own: self.keyHash,
      peer: channel.keyHash,
      payload: this.#payload(ownWay),
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
  ):
    | { readonly kind: "taken"; readonly payload: AdmissionPayload }
    | Exclude<AdmissionOutcome, { kind: "admitted" }> {
    const { door, log, membership } = this.#options;
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
    door.merge(payload.door, payload.name);
    return { kind: "taken", payload };
  }

  /**
   * This node first and what it was told last, so that nothing needed is cut.
   *
   * @param way By what it comes or lets in, with the slot of its own secret.
   */
  #payload(way: AdmissionWay): JsonObject {
    const { clusterIds, door, linkPort, membership, self } = this.#options;
    const rows = membership.rows();
    const own = rows.filter(({ keyHash }) => keyHash === self.keyHash);
    const others = rows.filter(({ keyHash }) => keyHash !== self.keyHash);
    const { rotation } = door.saved;
    const [clusterId] = clusterIds;
    // The label is for members alone, and the secret says it by itself.
    const labels = way.kind === "secret" ? {} : {
      clusters: clusterIds,
      ...(clusterId === undefined ? {} : { clusterId }),
    };
    return encodeAdmissionPayload({
      id: self.id,
      name: self.name,
      linkPort: linkPort(),
      ...self.role === undefined ? {} : { role: self.role },
      ...self.tag === undefined ? {} : { tag: self.tag },
      rows: [...own, ...others.reverse()],
      door: door.door,
      rotation: Math.max(
        0,
        way.kind === "secret" ? rotation - way.slot : rotation,
      ),
      clusters: [],
      ...labels,
    });
  }
}

function applicantOf(
  { id, name, role, tag }: AdmissionPayload,
  keyHash: Applicant["keyHash"],
): Applicant {
  return {
    id,
    keyHash,
    name,
    ...role === undefined ? {} : { role },
    ...tag === undefined ? {} : { tag },
  };
}
