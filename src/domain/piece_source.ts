/**
 * Bytes that come piece by piece, for one reader. A stream of the runtime's
 * costs several promises for each piece, which matters once for every token and
 * every hand it goes through.
 */
export interface PieceSource {
  /**
   * Wait for the next piece. Called again only when it has settled.
   *
   * @returns Undefined at the end.
   * @throws What broke the bytes off.
   */
  read(): Promise<Uint8Array | undefined>;
  /**
   * Give the rest up.
   *
   * @param reason Why.
   */
  cancel(reason: unknown): Promise<void>;
  /** Whether the end is known already; absent where only a read can tell. */
  readonly isOver?: boolean;
}

/**
 * A stream of a source's pieces, which reads no further ahead than it is read.
 *
 * @param source Nobody else's from now on.
 */
export function streamOf(source: PieceSource): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const piece = await source.read();
      if (piece !== undefined) controller.enqueue(piece);
      if (piece === undefined || source.isOver === true) controller.close();
    },
    cancel: (reason) => source.cancel(reason),
  }, { highWaterMark: 0 });
}

/**
 * The pieces of a stream.
 *
 * @param stream Nobody else's from now on.
 */
export function sourceOf(stream: ReadableStream<Uint8Array>): PieceSource {
  const reader = stream.getReader();
  return {
    read: async () => (await reader.read()).value,
    cancel: (reason) => reader.cancel(reason),
  };
}
