import type { Host } from "@covey/core/domain";
import type { Platform } from "@covey/core/platform";
import type { JoinBody } from "./actions/bodies.ts";
import { join, type Joined } from "./actions/join.ts";
import type { AuditLog } from "./audit/audit_log.ts";
import type { NodeIdentity } from "./identity/node_identity.ts";
import { dialLink, type LinkCredentials } from "./link/dial.ts";
import { MemberChannel } from "./link/member_channel.ts";
import { AddressBook } from "./membership/address_book.ts";
import { AdmissionOffice } from "./membership/admission_office.ts";
import { OPEN_DOOR } from "./membership/door.ts";
import { DoorKeeper } from "./membership/door_keeper.ts";
import { MemberStore } from "./membership/member_store.ts";
import { type Applicant, Membership } from "./membership/membership.ts";
import { SecretRing } from "./membership/secret_ring.ts";
import { writeStanding } from "./membership/standing_store.ts";

/** What joining from nothing takes. */
export interface FreshJoinOptions {
  readonly host: Host;
  readonly platform: Platform;
  readonly identity: NodeIdentity & LinkCredentials;
  readonly audit: AuditLog;
}

/**
 * Join a cluster by invitation from a node that is in none: no listener is
 * opened for it. What the issuer told is kept, so that the cluster can be
 * opened as after a restart.
 *
 * @throws {Fault} Why it did not come to it; nothing is kept then.
 */
export async function joinFresh(
  body: JoinBody,
  { audit, host, identity, platform }: FreshJoinOptions,
  signal: AbortSignal,
): Promise<Joined> {
  const { clock, entropy, files } = platform;
  const { log, stateDir } = host;
  // Which cluster it is, and so which tag this machine has there, is told only
  // once it is in: the tag comes with the next admission, if ever.
  const self: Applicant = {
    id: identity.id,
    keyHash: identity.keyHash,
    name: host.node.name,
    ...host.node.role === "controller" ? { role: "controller" } : {},
  };
  const membership = new Membership({ self, rows: [], log, onChange() {} });
  const door = new DoorKeeper({
    saved: { door: OPEN_DOOR, rotation: 0 },
    onChange() {},
    onTurned() {},
  });
  const office = new AdmissionOffice({
    self,
    membership,
    book: new AddressBook(),
    linkPort: () => host.config.linkPort,
    secrets: new SecretRing(null, null),
    door,
    invitations: null,
    clusterIds: [],
    audit,
    clock,
    entropy,
    log,
  });
  const bootId = entropy.uuid();
  const joined = await join(body, {
    office,
    own: identity.keyHash,
    platform,
    async dial(addresses, expected, dialling) {
      const first = await dialLink({
        addresses,
        expected,
        credentials: identity,
        clock,
        signal: dialling,
      });
      const channel = new MemberChannel({
        keyHash: first.keyHash,
        addresses: () => [first.address],
        credentials: identity,
        bootId,
        clock,
        first,
      });
      return { address: first.address, channel };
    },
  }, signal);
  await using store = new MemberStore({
    files,
    log,
    stateDir,
    clusterId: joined.clusterId,
    previousClusterId: null,
  });
  store.save({
    ...door.saved,
    rows: membership.rows(),
    addresses: new Map([[joined.issuer, [joined.address]]]),
  });
  await writeStanding(files, stateDir, joined.clusterId);
  log.info("This node was let into a cluster by invitation", {
    by: joined.by,
  });
  return joined;
}
