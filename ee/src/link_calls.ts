import type { Clock } from "@covey/core/platform";
import type { KeyHash } from "./identity/key_hash.ts";
import { dialLink, type LinkCredentials } from "./link/dial.ts";
import type { LinkAddress } from "./link/link_address.ts";
import { MemberChannel } from "./link/member_channel.ts";
import type { Met } from "./membership/dialer.ts";
import { fetchStatus, type StatusQuestion } from "./membership/status_call.ts";

/** What calls are made with. */
export interface LinkCallOptions {
  readonly credentials: LinkCredentials;
  readonly bootId: string;
  readonly clock: Clock;
  /** What a member is asked and told with a status. */
  question(keyHash: KeyHash): StatusQuestion;
}

/** Calls at addresses where a member may be, besides the channels of those that are met. */
export class LinkCalls {
  readonly #options: LinkCallOptions;

  constructor(options: LinkCallOptions) {
    this.#options = options;
  }

  /**
   * Call the first of several addresses that answers.
   *
   * @param expected The key that must answer, or null for whichever does.
   * @throws {LinkError} When none does.
   */
  async dial(
    addresses: readonly LinkAddress[],
    expected: KeyHash | null,
    signal: AbortSignal,
  ): Promise<Met> {
    const { bootId, clock, credentials } = this.#options;
    const first = await dialLink({
      addresses,
      expected,
      credentials,
      clock,
      signal,
    });
    const channel = new MemberChannel({
      keyHash: first.keyHash,
      addresses: () => [first.address],
      credentials,
      bootId,
      clock,
      first,
    });
    return { address: first.address, channel };
  }

  /** The boot id of whoever answers on a channel. */
  async bootOn(channel: MemberChannel, signal: AbortSignal): Promise<string> {
    const { clock, question } = this.#options;
    const { status } = await fetchStatus(channel, question(channel.keyHash), {
      clock,
      signal,
    });
    return status.bootId;
  }

  /** The boot id of who holds a key at an address; null where nobody does. */
  async bootAt(
    keyHash: KeyHash,
    address: LinkAddress,
    signal: AbortSignal,
  ): Promise<string | null> {
    const { bootId, clock, credentials } = this.#options;
    using channel = new MemberChannel({
      keyHash,
      addresses: () => [address],
      credentials,
      bootId,
      clock,
    });
    try {
      return await this.bootOn(channel, signal);
    } catch {
      // Nobody there, somebody else, or no answer in time: it is not there.
      signal.throwIfAborted();
      return null;
    }
  }
}
