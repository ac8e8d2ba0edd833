import type { PieceSource } from "../domain/mod.ts";

/** Takes what a transform makes. */
export interface ByteSink {
  /** Pass bytes on. */
  enqueue(bytes: Uint8Array): void;
}

/** Turns bytes into bytes, in order. Has the form of what a `TransformStream` is made of. */
export interface ByteTransform {
  /**
   * Take the next bytes in.
   *
   * @param chunk What came, cut anywhere.
   * @param sink Takes what goes on now, maybe nothing.
   */
  transform(chunk: Uint8Array, sink: ByteSink): void;
  /**
   * Take the end in.
   *
   * @param sink Takes what is left.
   */
  flush(sink: ByteSink): void;
}

/**
 * Send a body through transforms, read only when it is read itself. What
 * `pipeThrough` does with two streams and their back pressure for each
 * transform is done here by one, which matters once for every token.
 *
 * @param source The body; an error of it is an error of the result.
 * @param transforms First to last.
 * @returns What they make of it; cancelling it cancels the body.
 */
export function through(
  source: PieceSource,
  transforms: readonly ByteTransform[],
): ReadableStream<Uint8Array> {
  let out: ReadableStreamDefaultController<Uint8Array>;
  let isAnswered = false;
  let isGone = false;
  const last: ByteSink = {
    enqueue(bytes) {
      isAnswered = true;
      out.enqueue(bytes);
    },
  };
  const first = sinkBefore(transforms, last);
  return new ReadableStream<Uint8Array>({
    start(controller) {
      out = controller;
    },
    async pull(controller) {
      isAnswered = false;
      while (!isAnswered) {
        const piece = await source.read();
        if (isGone) return;
        if (piece === undefined) {
          for (const at of transforms.keys()) {
            transforms[at]?.flush(sinkBefore(transforms.slice(at + 1), last));
          }
          controller.close();
          return;
        }
        try {
          first.enqueue(piece);
        } catch (thrown) {
          // Nobody will read on: the body's own end tells nobody anything.
          source.cancel(thrown).catch(() => {});
          throw thrown;
        }
      }
    },
    cancel(reason) {
      isGone = true;
      return source.cancel(reason);
    },
  }, { highWaterMark: 0 });
}

/** What transforms take in, one behind the other, and the reader after them. */
function sinkBefore(
  transforms: readonly ByteTransform[],
  last: ByteSink,
): ByteSink {
  return transforms.reduceRight<ByteSink>(
    (sink, one) => ({ enqueue: (bytes) => one.transform(bytes, sink) }),
    last,
  );
}
