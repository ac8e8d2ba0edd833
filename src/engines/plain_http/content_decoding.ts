import { type PieceSource, sourceOf } from "../../domain/mod.ts";
import type { AnswerFields } from "./answer_head.ts";
import { MalformedAnswerError, quoted } from "./malformed_answer.ts";

/**
 * Undo the packing of a body. None is asked for, and some servers pack all the
 * same.
 *
 * @param fields Of the answer's head.
 * @param body Its bytes.
 * @throws {MalformedAnswerError} When it is packed in a way that can not be undone.
 */
export function decodedBody(
  fields: AnswerFields,
  body: PieceSource,
): PieceSource {
  const coding = fields.get("content-encoding")?.toLowerCase() ?? "identity";
  switch (coding) {
    case "":
    case "identity":
      return body;
    case "gzip":
    case "x-gzip":
      return unpacked(body, "gzip");
    case "br":
      return unpacked(body, "brotli");
    case "deflate":
      return unpacked(body, "deflate");
    default:
      throw new MalformedAnswerError(
        `An answer is packed as ${quoted(coding)}, which was not asked for`,
      );
  }
}

function unpacked(body: PieceSource, format: CompressionFormat): PieceSource {
  const packed = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const piece = await body.read();
      if (piece === undefined) controller.close();
      else controller.enqueue(new Uint8Array(piece));
    },
    cancel: (reason) => body.cancel(reason),
  }, { highWaterMark: 0 });
  return sourceOf(packed.pipeThrough(new DecompressionStream(format)));
}
