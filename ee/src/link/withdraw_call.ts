import type { AttemptId } from "@covey/core/domain";
import type { Clock } from "@covey/core/platform";
import type { MemberChannel } from "./member_channel.ts";

/** Longest time an attempt's entry waits to hear whether it has it back. */
const WITHDRAW_LIMIT_MS = 1000;
const REPLY_LIMIT_BYTES = 256;
const WITHDRAWN = "withdrawn";
const PATH = /^\/covey\/1\/attempts\/([^/]+)\/withdraw$/;

/** What a member answers. */
export type WithdrawReply = "withdrawn" | "started";

/**
 * Ask a member to give an attempt back that has not started. A member that
 * does not know the question, or is silent for a second, has not given it back.
 *
 * @param channel The way to the member.
 * @param attempt The attempt.
 * @param clock Time.
 * @returns Whether the member says that it left its queue unstarted.
 */
export async function withdrawAttempt(
  channel: MemberChannel,
  attempt: AttemptId,
  clock: Clock,
): Promise<boolean> {
  using deadline = clock.deadline(WITHDRAW_LIMIT_MS);
  try {
    const exchange = await channel.request({
      method: "POST",
      path: `/covey/1/attempts/${attempt}/withdraw`,
      headers: {},
      headLimitMs: WITHDRAW_LIMIT_MS,
      signal: deadline.signal,
    });
    const reply = await exchange.readAll(REPLY_LIMIT_BYTES, WITHDRAW_LIMIT_MS);
    return exchange.status === 200 &&
      new TextDecoder().decode(reply) === WITHDRAWN;
  } catch {
    // Whether it left shows in the attempt's own answer, which goes on.
    return false;
  }
}

/**
 * Read the path of a withdrawal.
 *
 * @returns The attempt's id as it stands there, or undefined for another path.
 */
export function withdrawnAttempt(path: string): string | undefined {
  return PATH.exec(path)?.[1];
}

/** Attempts of peers that can be taken back, while they are served. */
export class Withdrawable {
  readonly #held = new Map<
    string,
    { readonly entry: string; withdraw(): Promise<boolean> }
  >();

  /** Number of attempts that are held. */
  get size(): number {
    return this.#held.size;
  }

  /**
   * Keep an attempt.
   *
   * @param id Its id.
   * @param entry The node that sent it.
   * @param withdraw Takes it out of its queue.
   * @returns Disposing it forgets the attempt.
   */
  hold(
    id: string,
    entry: string,
    withdraw: () => Promise<boolean>,
  ): Disposable {
    const held = { entry, withdraw };
    this.#held.set(id, held);
    return {
      [Symbol.dispose]: () => {
        if (this.#held.get(id) === held) this.#held.delete(id);
      },
    };
  }

  /**
   * Take an attempt back.
   *
   * @param id Its id.
   * @param entry Who asks: only the node that sent it may.
   */
  async withdraw(id: string, entry: string): Promise<WithdrawReply> {
    const held = this.#held.get(id);
    if (held === undefined || held.entry !== entry) return "started";
    return await held.withdraw() ? WITHDRAWN : "started";
  }
}
