import type { Host } from "@covey/core/domain";
import type { Platform } from "@covey/core/platform";
import { AdmissionDesk } from "./admission/admission_desk.ts";
import type { AuditLog } from "./audit/audit_log.ts";
import { Invitations } from "./invitation/invitations.ts";
import type { AddressBook } from "./membership/address_book.ts";
import { AdmissionOffice } from "./membership/admission_office.ts";
import { DoorKeeper, type SavedDoor } from "./membership/door_keeper.ts";
import type { Applicant, Membership } from "./membership/membership.ts";
import type { Notes } from "./membership/notes.ts";
import type { SecretRing } from "./membership/secret_ring.ts";

/** What the gate is made of. */
export interface GateOptions {
  readonly host: Host;
  readonly platform: Platform;
  readonly self: Applicant;
  readonly clusterId: string;
  readonly secrets: SecretRing;
  readonly saved: SavedDoor;
  readonly membership: Membership;
  readonly book: AddressBook;
  readonly notes: Notes;
  readonly audit: AuditLog;
  linkPort(): number;
  /** What is to be kept has changed. */
  onChange(): void;
}

/** All by which nodes get into the cluster through this one. */
export class ClusterGate {
  readonly door: DoorKeeper;
  readonly invitations: Invitations;
  readonly office: AdmissionOffice;
  readonly desk: AdmissionDesk;

  constructor(options: GateOptions) {
    const { audit, clusterId, host: { log }, platform, secrets, self } =
      options;
    const { clock, entropy } = platform;
    this.door = new DoorKeeper({
      saved: options.saved,
      onChange: options.onChange,
      onTurned(state, by) {
        log.info(
          state === "closed"
            ? "The door is closed: the secret alone lets nobody in"
            : "The door is open: the secret lets in",
          { by },
        );
        audit.note({ event: "door", state, by });
      },
    });
    this.invitations = new Invitations({
      clock,
      entropy,
      onCodeVoided() {
        log.warn("The join code is void: too many runs were made on it");
        audit.note({ event: "code_voided" });
      },
    });
    this.office = new AdmissionOffice({
      self,
      membership: options.membership,
      book: options.book,
      notes: options.notes,
      linkPort: () => options.linkPort(),
      secrets,
      door: this.door,
      invitations: this.invitations,
      clusterIds: secrets.isEmpty ? [clusterId] : secrets.clusterIds(),
      audit,
      clock,
      entropy,
      log,
    });
    this.desk = new AdmissionDesk({
      clock,
      entropy,
      log,
      own: self.keyHash,
      passwordOf: (way) => Promise.resolve(this.office.passwordOf(way)),
      admit: (peer, payload) =>
        Promise.resolve(this.office.decide(peer, payload)),
      onRefused: (way, { address, keyHash }) =>
        audit.note({
          event: "refused",
          way: way.kind,
          reason: "It did not prove that it knows it",
          keyHash,
          address,
        }),
    });
  }
}
