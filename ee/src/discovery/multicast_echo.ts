import type { Clock, Entropy } from "@covey/core/platform";
import { type DnsMessage, queryOf } from "./dns/message.ts";

const WAIT_MS = 1000;
const EVERY_MS = 250;

/** What a test stands on. */
export interface EchoPorts {
  readonly clock: Clock;
  readonly entropy: Entropy;
  /** Send to the group. */
  send(message: DnsMessage): void;
}

/**
 * Tells whether what is sent to the group comes back: a question that nobody
 * answers is asked, and one's own socket, which is in the group, has to hear it.
 */
export class MulticastEcho {
  readonly #waiting = new Map<string, () => void>();

  /** Take a message that was heard. */
  hear({ questions }: DnsMessage): void {
    for (const { name } of questions) this.#waiting.get(name)?.();
  }

  /**
   * Run the test, for at most 1 s.
   *
   * @returns Whether the question was heard.
   */
  async run({ clock, entropy, send }: EchoPorts): Promise<boolean> {
    const name = `covey-echo-${entropy.bytes(6).toHex()}.local`;
    const question = queryOf({
      questions: [{ name, type: "TXT", unicast: false }],
    });
    let heard = false;
    const woken = new AbortController();
    this.#waiting.set(name, () => {
      heard = true;
      woken.abort();
    });
    const untilMs = clock.monotonic() + WAIT_MS;
    try {
      while (!heard && clock.monotonic() < untilMs) {
        send(question);
        await clock.sleep(EVERY_MS, woken.signal);
      }
    } catch {
      // Heard, so that there is nothing left to wait for.
    } finally {
      this.#waiting.delete(name);
    }
    return heard;
  }
}
