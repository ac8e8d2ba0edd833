import type { Engine, HealthState, Log, NodeId } from "@covey/core/domain";
import type { Clock } from "@covey/core/platform";
import type { KeyHash } from "../identity/key_hash.ts";
import { LinkError } from "../link/link_error.ts";
import type { LinkCredentials } from "../link/dial.ts";
import { MemberChannel } from "../link/member_channel.ts";
import { PeerEngines } from "../link/peer_engine.ts";
import type { AddressBook } from "./address_book.ts";
import type { MemberRow } from "./member_row.ts";
import { PeerMonitor } from "./peer_monitor.ts";
import {
  fetchStatus,
  type Polled,
  type StatusQuestion,
} from "./status_call.ts";
import type { StatusMessage } from "./status_message.ts";
import { askTest } from "./test_call.ts";

/** What every peer needs of the node. */
export interface PeerOptions {
  readonly self: NodeId;
  readonly credentials: LinkCredentials;
  readonly clock: Clock;
  readonly log: Log;
  readonly book: AddressBook;
  /** What this node says when it asks for a status. */
  question(keyHash: KeyHash): StatusQuestion;
  onStatus(peer: Peer, status: StatusMessage): void;
  /** Which of its starts this is, said with every request. */
  readonly bootId?: string;
  /**
   * Judge whose status it is, since a copy of a member holds its key too.
   *
   * @returns Null when it is the member's own, else why it is not believed.
   */
  judge?(
    peer: Peer,
    status: StatusMessage,
    signal: AbortSignal,
  ): Promise<string | null>;
  /** The member holds this node to be a copy, or with null does no more. */
  onHeldCopy?(peer: Peer, reason: string | null): void;
  /** A member's health has changed. */
  onHealth?(to: HealthState): void;
  /** The key answered at an address where it was not met before. */
  onMet(): void;
}

/** One member other than this node: the link to it, its health and its engines. */
export class Peer implements AsyncDisposable {
  readonly row: MemberRow;
  readonly monitor: PeerMonitor;
  readonly channel: MemberChannel;
  readonly #engines: PeerEngines;

  constructor(row: MemberRow, options: PeerOptions) {
    const { book, clock, credentials, log } = options;
    this.row = row;
    this.channel = new MemberChannel({
      keyHash: row.keyHash,
      addresses: () => book.candidates(row.keyHash),
      credentials,
      ...options.bootId === undefined ? {} : { bootId: options.bootId },
      clock,
      onConnected: (address) => {
        const [last] = book.metAt(row.keyHash);
        book.met(row.keyHash, address);
        if (last !== book.metAt(row.keyHash)[0]) options.onMet();
      },
      // Its process died, say: the next poll tells, so that is now.
      onDropped: () => this.monitor.pollNow(),
    });
    this.monitor = new PeerMonitor({
      clock,
      log,
      name: row.name,
      poll: (signal) => this.#poll(options, signal),
      test: (signal) => askTest(this.channel, { clock, signal }),
      lastHeardMs: () => this.channel.lastHeardMs,
      onStatus: (status) => options.onStatus(this, status),
      onHealth: (to) => options.onHealth?.(to),
      onOffline: () => this.channel.breakOff("The member is off line"),
    });
    this.#engines = new PeerEngines({
      self: options.self,
      clock,
      channel: this.channel,
      standing: {
        node: row.id,
        nodeName: () => this.monitor.name,
        availability: () => this.monitor.availability(),
        hop: () => this.monitor.hop(),
        work: () => {
          const { held } = this.monitor;
          return held === null
            ? null
            : { report: held.status.work, atMs: held.atMs };
        },
      },
      onRoundTrip: (ms) => this.monitor.observeRoundTrip(ms),
      onLinkFailure: () => this.monitor.pollNow(),
    });
  }

  async #poll(options: PeerOptions, signal: AbortSignal): Promise<Polled> {
    const { clock, judge, onHeldCopy, question } = options;
    const means = { clock, signal };
    const polled = await fetchStatus(
      this.channel,
      question(this.row.keyHash),
      means,
    ).catch((error) => {
      if (error instanceof LinkError && error.problem === "copy") {
        onHeldCopy?.(this, error.message);
      }
      throw error;
    });
    onHeldCopy?.(this, null);
    const reason = await judge?.(this, polled.status, signal) ?? null;
    if (reason === null) return polled;
    // The next connection goes where the member itself was met.
    this.channel.redial();
    throw new LinkError("copy", reason);
  }

  /** Its engines as the router sees them. */
  engines(): readonly Engine[] {
    return this.#engines.list();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.channel[Symbol.dispose]();
    await this.monitor[Symbol.asyncDispose]();
  }
}
