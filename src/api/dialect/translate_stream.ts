import type { ByteTransform } from "../byte_transform.ts";
import type { AnswerPiece } from "./answer_piece.ts";
import { EventData, type StreamItem } from "./event_data.ts";
import { PieceReader } from "./piece_reader.ts";

/** Writes an answer in one dialect, piece by piece. */
export interface AnswerWriter {
  /**
   * Take the next piece.
   *
   * @param piece The piece; `done` or `broken` is the last one.
   * @returns What goes to the client now, maybe nothing.
   */
  write(piece: AnswerPiece): string;
}

/**
 * Turn a stream of the internal dialect into another dialect's.
 *
 * @param writer Writes that dialect.
 * @param seed Makes ids that an engine left out unique to this answer.
 * @returns A transform over bytes.
 */
export function translateStream(
  writer: AnswerWriter,
  seed: string,
): ByteTransform {
  const events = new EventData();
  const reader = new PieceReader(seed);
  const encoder = new TextEncoder();

  function written(items: readonly StreamItem[]): string {
    let text = "";
    for (const item of items) {
      if (item.kind === "comment") {
        if (!reader.over) text += writer.write({ kind: "alive" });
        continue;
      }
      for (const piece of reader.event(item.data)) text += writer.write(piece);
    }
    return text;
  }
  return {
    transform(chunk, sink) {
      const text = written(events.push(chunk));
      if (text !== "") sink.enqueue(encoder.encode(text));
    },
    flush(sink) {
      let text = written(events.end());
      if (!reader.over) {
        text += writer.write(reader.broken("The engine's answer broke off"));
      }
      if (text !== "") sink.enqueue(encoder.encode(text));
    },
  };
}
