import type { Host } from "@covey/core/domain";
import type { Platform } from "@covey/core/platform";
import type { AuditLog } from "../audit/audit_log.ts";
import type { KeyHash } from "../identity/key_hash.ts";
import type { Invitations } from "../invitation/invitations.ts";
import type { LinkAddress } from "../link/link_address.ts";
import type { AdmissionOffice } from "../membership/admission_office.ts";
import type { Met } from "../membership/dialer.ts";
import type { DoorKeeper } from "../membership/door_keeper.ts";
import type { Membership } from "../membership/membership.ts";
import type { Peers } from "../membership/peers.ts";

/** What operators' actions may touch of a running cluster. */
export interface ActionMeans {
  readonly host: Host;
  readonly platform: Platform;
  readonly clusterId: string;
  readonly own: KeyHash;
  /** Whether a secret admits here, besides invitations. */
  readonly hasSecret: boolean;
  readonly membership: Membership;
  readonly peers: Peers;
  readonly door: DoorKeeper;
  readonly invitations: Invitations;
  readonly audit: AuditLog;
  readonly office: AdmissionOffice;
  /** Note where a member was met just now. */
  noteMet(keyHash: KeyHash, address: LinkAddress): void;
  /** Look for nodes nearby now, and not only when it is time. */
  lookAround(): void;
  /** Where others reach this node's link, as `host:port`. */
  ownAddresses(): readonly string[];
  /**
   * Connect to whoever answers.
   *
   * @param expected The only key that will do, or null.
   */
  dial(
    addresses: readonly LinkAddress[],
    expected: KeyHash | null,
    signal: AbortSignal,
  ): Promise<Met>;
}
