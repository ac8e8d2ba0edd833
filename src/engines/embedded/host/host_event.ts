import type { CardReport } from "../../card_report.ts";

/** What the engine's process tells its parent, one JSON object a line on stdout. */
export type HostEvent =
  /** The socket serves; the model is not loaded yet. */
  | { readonly event: "listening" }
  /** Part of the model that is loaded, 0 to 1. */
  | { readonly event: "loading"; readonly progress: number }
  | {
    readonly event: "ready";
    readonly loadTimeMs: number;
    /** Tokens that prompt and answer of one slot may have together. */
    readonly contextLength: number;
    readonly slots: number;
    /** The cards the model computes on; null for none but the processor, absent where that is not known. */
    readonly card?: CardReport | null;
  }
  /** The model can not be loaded; the process ends with `EXIT_LOAD_FAILED`. */
  | { readonly event: "failed"; readonly reason: string };

/** Exit code after wrong arguments. */
export const EXIT_USAGE = 2;

/** Exit code after a `failed` event. */
export const EXIT_LOAD_FAILED = 3;

/** Most lines that wait for a parent that does not read. */
const MAX_WAITING_LINES = 1000;

/** Writes lines in order; lines for a reader who is gone or stuck are dropped. */
export class LineWriter {
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #encoder = new TextEncoder();
  #waiting = 0;
  #last: Promise<void> = Promise.resolve();

  /**
   * Take a stream over.
   *
   * @param stream Where the lines go.
   */
  constructor(stream: WritableStream<Uint8Array>) {
    this.#writer = stream.getWriter();
  }

  /**
   * Write a line.
   *
   * @param line Without its line break.
   */
  write(line: string): void {
    if (this.#waiting >= MAX_WAITING_LINES) return;
    this.#waiting++;
    const bytes = this.#encoder.encode(`${line}\n`);
    this.#last = this.#last.then(() => this.#writer.write(bytes)).then(
      () => {
        this.#waiting--;
      },
      // The reader is gone. The parent's end shows on stdin, which ends the
      // process; until then there is nobody to tell.
      () => {
        this.#waiting = MAX_WAITING_LINES;
      },
    );
  }

  /** Resolves once everything written so far has been taken or dropped. */
  written(): Promise<void> {
    return this.#last;
  }
}
