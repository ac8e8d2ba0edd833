import { escapeUnprintable } from "@covey/core/domain";

const LINES_KEPT = 3;
const LONGEST_LINE = 240;
/** What ssh says on the way that explains no failure. */
const CHATTER = /^(?:Warning: Permanently added|Allocated port)/;

/** What ssh writes to standard error, line by line; keeps the last few. */
export class SshOutput {
  readonly #decoder = new TextDecoder();
  readonly #last: string[] = [];
  #rest = "";
  #allocated: number | null = null;
  #refusedRemote = false;

  /** Port that the other side gave to the way back, or null. */
  get allocatedPort(): number | null {
    return this.#allocated;
  }

  /** Whether the other side refused a way back. */
  get refusedRemote(): boolean {
    return this.#refusedRemote;
  }

  /** The last lines that explain something, or null. */
  get reason(): string | null {
    return this.#last.length === 0 ? null : this.#last.join("; ");
  }

  /**
   * Take what came.
   *
   * @param bytes Any piece of the output.
   */
  take(bytes: Uint8Array): void {
    const text = this.#rest + this.#decoder.decode(bytes, { stream: true });
    const lines = text.split(/\r?\n/);
    this.#rest = (lines.pop() ?? "").slice(0, LONGEST_LINE);
    for (const line of lines) this.#read(line);
  }

  /** Take what was left without a line end. */
  end(): void {
    const rest = this.#rest;
    this.#rest = "";
    this.#read(rest);
  }

  #read(line: string): void {
    const text = escapeUnprintable(line.trim().slice(0, LONGEST_LINE));
    if (text === "") return;
    const port = /^Allocated port (\d{1,5}) for remote forward/.exec(text)?.[1];
    if (port !== undefined) this.#allocated = Number(port);
    if (/remote port forwarding failed/i.test(text)) this.#refusedRemote = true;
    if (CHATTER.test(text)) return;
    this.#last.push(text);
    if (this.#last.length > LINES_KEPT) this.#last.shift();
  }
}
