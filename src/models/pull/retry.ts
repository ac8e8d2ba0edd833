import { Fault, parseRetryAfter } from "../../domain/mod.ts";
import type { Clock, Entropy } from "../../platform/mod.ts";

/** Characters of what a try failed with. */
const MOST_SAID = 300;
/** Tries in a row that bring nothing. */
const MOST_TRIES = 6;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 20_000;
/** Hubs count requests in windows of five minutes; one that wants more is not waited for. */
const LONGEST_ASKED_MS = 10 * 60_000;

/** The source is too busy, and may have said for how long. */
export class SourceBusy extends TypeError {
  override readonly name = "SourceBusy";
  /** Its Retry-After header, or null. */
  readonly retryAfter: string | null;

  /**
   * Make the failure.
   *
   * @param message What it answered.
   * @param retryAfter Its Retry-After header, or null.
   */
  constructor(message: string, retryAfter: string | null) {
    super(message);
    this.retryAfter = retryAfter;
  }
}

/** The source does not answer, or gives up again and again: what it has may be had elsewhere. */
export class SourceUnreachable extends Fault {
  /**
   * Make the failure.
   *
   * @param cause What the last try failed with.
   */
  constructor(cause: unknown) {
    super(
      "hub_failed",
      `The source can not be reached, or gives up again and again${
        lastOf(cause)
      }; see whether this machine gets there (HF_ENDPOINT names another hub, HTTPS_PROXY a proxy)`,
      { cause },
    );
  }
}

/** How the last try ended, without its address: that may hold a signature. */
function lastOf(cause: unknown): string {
  if (!(cause instanceof Error)) return "";
  // The runtime says no more than "fetch failed" itself.
  const { message } = cause.cause instanceof Error ? cause.cause : cause;
  const said = message.replace(/ for url \(\S+\)/, "");
  return ` (at last: ${said.slice(0, MOST_SAID)})`;
}

/**
 * Try again, later and later, as long as the network alone is to blame, and not
 * before a source that is too busy wants to be asked again.
 *
 * @param ports Clock, and chance for the jitter.
 * @param act What to try. A `TypeError` is worth another try; `"progress"` asks for one and sets the count back.
 * @param signal Aborting it ends the wait with the signal's reason.
 * @returns What `act` came to.
 * @throws {SourceUnreachable} After six tries in vain, or when it wants to be left alone for more than ten minutes.
 */
export async function retry<Result>(
  { clock, entropy }: { readonly clock: Clock; readonly entropy: Entropy },
  act: () => Promise<Result | "progress">,
  signal: AbortSignal,
): Promise<Result> {
  for (let tries = 1;;) {
    let askedMs = 0;
    try {
      const result = await act();
      if (result !== "progress") return result;
      tries = 1;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof TypeError)) throw error;
      if (error instanceof SourceBusy) {
        askedMs = parseRetryAfter(error.retryAfter, clock.now()) ?? 0;
      }
      if (tries >= MOST_TRIES || askedMs > LONGEST_ASKED_MS) {
        throw new SourceUnreachable(error);
      }
      tries++;
    }
    const waitMs = Math.min(FIRST_WAIT_MS * 2 ** tries, LONGEST_WAIT_MS);
    const spreadMs = waitMs * (0.5 + entropy.float() / 2);
    await clock.sleep(Math.max(spreadMs, askedMs), signal);
  }
}
