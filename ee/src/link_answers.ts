import type { Host, Router } from "@covey/core/domain";
import { orAborted, type Platform } from "@covey/core/platform";
import type { AuditLog } from "./audit/audit_log.ts";
import { encodeCallBack, tryDial } from "./doctor/call_back.ts";
import type { KeyHash } from "./identity/key_hash.ts";
import type { NodeIdentity } from "./identity/node_identity.ts";
import { formatAddress } from "./link/link_address.ts";
import type { LinkCaller, StatusQuery } from "./link/link_server.ts";
import type { CloneGuard } from "./membership/clone_guard.ts";
import type { DoorKeeper } from "./membership/door_keeper.ts";
import type { Membership } from "./membership/membership.ts";
import type { Peers } from "./membership/peers.ts";
import { encodeDrain, parseDrain } from "./membership/drain_call.ts";
import { encodeStatus } from "./membership/status_message.ts";
import { encodeTest } from "./membership/test_call.ts";
import { parseTell } from "./membership/tell_message.ts";
import type { Whereabouts } from "./whereabouts.ts";

/** A dial back is an answer to somebody who waits. */
const CALL_BACK_LIMIT_MS = 2000;

/** What answering members needs. */
export interface LinkAnswersOptions {
  readonly host: Host;
  readonly platform: Platform;
  readonly identity: NodeIdentity;
  readonly bootId: string;
  readonly membership: Membership;
  readonly peers: Peers;
  readonly places: Whereabouts;
  readonly guard: CloneGuard;
  readonly audit: AuditLog;
  readonly door: DoorKeeper;
  /** Port of this node's link. */
  port(): number;
  /** Another node shows this node's key from there. */
  onCopy(address: string): void;
  /** Aborts when the node stops. */
  readonly life: AbortSignal;
}

/** What this node answers its members on the link. */
export class LinkAnswers {
  readonly #options: LinkAnswersOptions;

  constructor(options: LinkAnswersOptions) {
    this.#options = options;
  }

  /** This node's status. */
  status(caller: LinkCaller, query: StatusQuery): Uint8Array {
    const { bootId, door, guard, host, membership, peers, places, port } =
      this.#options;
    const { keyHash } = caller;
    if (guard.isBelieved(keyHash, query.bootId)) places.heard(caller, query);
    const peer = peers.get(keyHash);
    if (peer?.monitor.health.state !== "healthy") peer?.monitor.pollNow();
    const work = host.router.report();
    return encodeStatus({
      version: host.node.version,
      bootId,
      name: host.node.name,
      linkPort: port(),
      draining: work.draining ?? false,
      rows: query.rowsDigest === membership.digest ? [] : membership.rows(),
      addresses: places.passOn(
        caller,
        query,
        peers.list().map(({ row }) => row.keyHash)
          .filter((other) => other !== keyHash),
      ),
      door: door.door,
      work,
    });
  }

  /**
   * Read a member's news.
   *
   * @returns Takes them.
   * @throws {WireError} When they can not be read.
   */
  tell({ keyHash }: LinkCaller, body: Uint8Array): () => void {
    const { door, membership, peers } = this.#options;
    const news = parseTell(body);
    const from = peers.get(keyHash)?.monitor.name ?? "a member";
    return () => {
      door.merge(news.door, from);
      membership.merge(news.rows, from);
      // Whoever has news has a new status.
      peers.get(keyHash)?.monitor.pollNow();
    };
  }

  /**
   * Take no more work, or take it again, because a member's operator says so.
   *
   * @throws {WireError} When the request can not be read.
   */
  async drain({ keyHash }: LinkCaller, body: Uint8Array): Promise<Uint8Array> {
    const { audit, host, identity, peers } = this.#options;
    const draining = parseDrain(body);
    await host.drain?.(draining);
    const by = peers.get(keyHash)?.monitor.name ?? "a member";
    const { name } = host.node;
    audit.note({ event: "drain", draining, name, id: identity.id, by });
    host.log.info(
      draining
        ? "A member has this node drained"
        : "A member has this node take work again",
      { by },
    );
    const isDraining = host.router.report().draining ?? false;
    return encodeDrain(host.drain === undefined ? isDraining : draining);
  }

  /**
   * Have this node's engines tested; null where it has nothing to test.
   *
   * @throws What this node stops with, should it stop meanwhile.
   */
  get test(): (() => Promise<Uint8Array>) | null {
    const { host: { router }, life } = this.#options;
    const test = router.testEngines?.bind(router);
    return test === undefined
      ? null
      : async () => encodeTest(await orAborted(test(), life));
  }

  /** Dial a member where it says that it is, and tell it what came of it. */
  async callBack(
    { address, keyHash }: LinkCaller,
    { callback, linkPort }: StatusQuery,
  ): Promise<Uint8Array> {
    const { identity, life, platform: { clock } } = this.#options;
    const target = callback === undefined
      ? linkPort === null ? null : { host: address, port: linkPort }
      : callback === null
      ? null
      : { host: "127.0.0.1", port: callback };
    using deadline = clock.deadline(CALL_BACK_LIMIT_MS, life);
    const means = { clock, credentials: identity };
    const dial = await tryDial(target, keyHash, means, deadline.signal);
    return encodeCallBack(dial, clock);
  }

  /** What a caller with a member's key is told when it is a copy of that member. */
  copyOf(
    { address, keyHash }: LinkCaller,
    { bootId, linkPort }: StatusQuery,
  ): string | null {
    const { guard, identity, onCopy } = this.#options;
    const host = { host: address, port: linkPort ?? 0 };
    if (keyHash === identity.keyHash) {
      if (bootId !== null && bootId !== this.#options.bootId) {
        onCopy(formatAddress(host));
      }
      // Each shows it: neither can tell which of the two is to stay.
      return null;
    }
    return guard.refusal(keyHash, bootId, linkPort === null ? null : host);
  }

  /** The member with a key, if it may speak here. */
  member(keyHash: KeyHash): ReturnType<Membership["memberOf"]> {
    return this.#options.membership.memberOf(keyHash);
  }

  /** Run a member's attempt here. */
  serve: Router["serve"] = (engine, attempt, signal) => {
    const { host, identity, membership } = this.#options;
    const keyHash = membership.keyOf(attempt.entry);
    const seated = keyHash !== undefined && membership.mayGive(keyHash) &&
      membership.mayGive(identity.keyHash);
    return seated ? host.router.serve(engine, attempt, signal) : Promise
      .resolve({
        kind: "refused",
        reason: "not_lent",
        message: "The entry node or this one has no seat in the cluster",
        retryAfterMs: null,
      });
  };
}
