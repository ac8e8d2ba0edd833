import { Fault, type JsonObject, type JsonValue } from "@covey/core/domain";
import { formatJoinToken } from "../invitation/join_token.ts";
import { parseAddress } from "../link/parse_address.ts";
import type { ActionMeans } from "./action_means.ts";
import { readInvite } from "./bodies.ts";

/**
 * Issue a token or a code that lets one node in.
 *
 * @throws {Fault} When there is no address to name, or there are too many tokens.
 */
export function invite(body: JsonObject, means: ActionMeans): JsonValue {
  const { audit, invitations, membership, own, platform } = means;
  const { kind, ttlMs } = readInvite(body);
  if (membership.own.state === "removed") {
    throw new Fault(
      "invalid_request",
      "This node was removed from its cluster and can invite nobody; run `covey leave` first",
    );
  }
  const addresses = means.ownAddresses();
  if (addresses.length === 0) {
    throw new Fault(
      "no_candidate",
      "No address is known at which others reach this node; set COVEY_ADVERTISE to one",
    );
  }
  const expiresAtMs = platform.clock.now() + ttlMs;
  const common = {
    kind,
    ttlMs,
    expiresAt: new Date(expiresAtMs).toISOString(),
    addresses,
  };
  if (kind === "code") {
    const { code } = invitations.issueCode(ttlMs);
    audit.note({ event: "invited", way: "code", lifeMs: ttlMs });
    return { ...common, code };
  }
  const issued = invitations.issueToken(ttlMs);
  if (issued === undefined) {
    throw new Fault(
      "queue_full",
      "Too many join tokens live; wait until some have expired, or restart this node, which voids all",
    );
  }
  audit.note({ event: "invited", way: "token", lifeMs: ttlMs });
  const token = formatJoinToken({
    id: issued.id,
    key: issued.key,
    issuer: own,
    addresses: addresses.flatMap((text) => parseAddress(text) ?? []),
    expiresAtMs,
  });
  return { ...common, token };
}
