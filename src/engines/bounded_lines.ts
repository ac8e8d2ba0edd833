/** Cuts text into lines, none longer than a bound: what is beyond is dropped. */
export class BoundedLines {
  readonly #longest: number;
  #line = "";

  /**
   * @param longest Characters kept of a line.
   */
  constructor(longest: number) {
    this.#longest = longest;
  }

  /**
   * Take more text.
   *
   * @returns The lines that it completes.
   */
  push(text: string): readonly string[] {
    const [first = "", ...more] = text.split("\n");
    const lines: string[] = [];
    this.#append(first);
    for (const part of more) {
      lines.push(this.#line.replace(/\r$/, ""));
      this.#line = "";
      this.#append(part);
    }
    return lines;
  }

  /** What came after the last line's end. */
  rest(): string {
    return this.#line;
  }

  #append(part: string): void {
    this.#line += part.slice(0, this.#longest - this.#line.length);
  }
}

/**
 * Read a stream to its end, line by line, so that its writer never blocks.
 *
 * @param stream The stream.
 * @param longest Characters kept of a line.
 * @param take Called for each line.
 * @param signal Aborting it ends the reading.
 * @throws What the stream or the signal ended with.
 */
export async function drainLines(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  longest: number,
  take: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const lines = new BoundedLines(longest);
  const decoder = new TextDecoder();
  const sink = new WritableStream<Uint8Array<ArrayBuffer>>({
    write(bytes) {
      for (const line of lines.push(decoder.decode(bytes, { stream: true }))) {
        take(line);
      }
    },
    close() {
      if (lines.rest() !== "") take(lines.rest());
    },
  });
  await stream.pipeTo(sink, { signal });
}
