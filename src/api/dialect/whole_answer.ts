import type { JsonObject } from "../../domain/mod.ts";
import type { AnswerDone, AnswerPiece } from "./answer_piece.ts";
import { PieceReader } from "./piece_reader.ts";

/** One tool call of a whole answer. */
export interface WholeCall {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

/** What a whole answer says. */
export interface WholeAnswer {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly WholeCall[];
  readonly end: AnswerDone;
}

/**
 * Read a whole answer of the internal dialect.
 *
 * @param answer The answer.
 * @param seed Makes ids that an engine left out unique to this answer.
 * @returns What it says.
 */
export function readWholeAnswer(
  answer: JsonObject,
  seed: string,
): WholeAnswer {
  return gather(new PieceReader(seed).whole(answer));
}

function gather(pieces: readonly AnswerPiece[]): WholeAnswer {
  let text = "";
  let reasoning = "";
  const calls: { id: string; name: string; arguments: string }[] = [];
  let end: AnswerDone | undefined;
  for (const piece of pieces) {
    switch (piece.kind) {
      case "text":
        text += piece.text;
        break;
      case "reasoning":
        reasoning += piece.text;
        break;
      case "call":
        calls[piece.index] = { id: piece.id, name: piece.name, arguments: "" };
        break;
      case "arguments": {
        const call = calls[piece.index];
        if (call !== undefined) call.arguments += piece.text;
        break;
      }
      case "done":
        end = piece;
        break;
      case "alive":
      case "broken":
        break;
      default: {
        const never: never = piece;
        return never;
      }
    }
  }
  if (end === undefined) throw new RangeError("A whole answer has an end");
  return { text, reasoning, calls, end };
}
