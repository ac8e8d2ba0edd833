import type { NodeId, PullWant } from "@covey/core/domain";
import type { Clock } from "@covey/core/platform";
import type { Peer } from "../membership/peer.ts";
import { NotHeldError } from "./copy_error.ts";
import { askStanding } from "./pull_call.ts";
import type { MemberStanding, Standing } from "./pull_election.ts";

/** After a start, how long members that were not met yet are waited for. */
const MEET_MS = 3000;
const MEET_EVERY_MS = 100;

/** What a round of questions needs. */
export interface RoundMeans {
  readonly clock: Clock;
  readonly self: { readonly node: NodeId };
  peers(): readonly Peer[];
}

/**
 * Ask every member that is not off line how it stands to a pull.
 *
 * @param means Who is asked.
 * @param want What is pulled.
 * @param signal Aborting it ends the round with the signal's reason.
 */
export async function askRound(
  { clock, peers, self }: RoundMeans,
  { key, sha256s }: Pick<PullWant, "key" | "sha256s">,
  signal: AbortSignal,
): Promise<readonly MemberStanding[]> {
  return await Promise.all(
    peers().filter(({ monitor }) => monitor.health.state !== "offline").map(
      async ({ channel, monitor, row }) => {
        const question = { key, sha256s, node: self.node };
        const ask = async (): Promise<Standing> => {
          try {
            return await askStanding(channel, question, { clock, signal });
          } catch (error) {
            signal.throwIfAborted();
            // One without models, or of an older version, has no part in it.
            const isNone = error instanceof NotHeldError;
            return { state: isNone ? "none" : "silent" };
          }
        };
        const first = await ask();
        // One that was busy for a moment may be the very one that fetches.
        const standing = first.state === "silent" ? await ask() : first;
        return { node: row.id, name: monitor.name, standing };
      },
    ),
  );
}

/**
 * Wait for members that were not met yet: a pull that goes on with the start of
 * its node would else find nobody.
 *
 * @param means Who is waited for.
 * @param signal Aborting it ends the wait with the signal's reason.
 */
export async function meetMembers(
  { clock, peers }: RoundMeans,
  signal: AbortSignal,
): Promise<void> {
  const untilMs = clock.monotonic() + MEET_MS;
  const isUnmet = ({ monitor }: Peer) =>
    monitor.held === null && monitor.health.failures === 0;
  while (peers().some(isUnmet) && clock.monotonic() < untilMs) {
    await clock.sleep(MEET_EVERY_MS, signal);
  }
}
