import { Fault, type JsonObject, parseObject } from "../../domain/mod.ts";
import type { AnswerDone, AnswerPiece } from "../dialect/answer_piece.ts";
import type { AnswerWriter } from "../dialect/translate_stream.ts";
import type { WholeAnswer, WholeCall } from "../dialect/whole_answer.ts";

/** What an answer in Ollama's dialect is about. */
export interface LineFrame {
  /** Which route it answers. */
  readonly kind: "chat" | "generate";
  /** As the caller named it. */
  readonly model: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** What the request wanted of the model alone, without an answer; null for one that wants an answer. */
  readonly only: "load" | "unload" | null;
  /** Milliseconds since the request came in. */
  readonly elapsedMs: () => number;
}

/** Writes Ollama's lines. Calls are written whole, once the answer has ended. */
export class AnswerLines implements AnswerWriter {
  readonly #frame: LineFrame;
  readonly #calls: { id: string; name: string; arguments: string }[] = [];
  /** When the first of the answer was there, on `elapsedMs`. */
  #beganMs: number | null = null;

  /** @param frame What the answer is about. */
  constructor(frame: LineFrame) {
    this.#frame = frame;
  }

  /** @inheritdoc */
  write(piece: AnswerPiece): string {
    switch (piece.kind) {
      // Lines are JSON and nothing else (SSE-03).
      case "alive":
        return "";
      case "text":
        this.#begin();
        return this.#say({ content: piece.text });
      case "reasoning":
        this.#begin();
        return this.#say({ content: "", thinking: piece.text });
      case "call":
        this.#begin();
        this.#calls[piece.index] = {
          id: piece.id,
          name: piece.name,
          arguments: "",
        };
        return "";
      case "arguments": {
        const call = this.#calls[piece.index];
        if (call !== undefined) call.arguments += piece.text;
        return "";
      }
      case "done":
        return this.#finish(piece);
      case "broken":
        return line({ error: piece.message });
      default: {
        const never: never = piece;
        return never;
      }
    }
  }

  #begin(): void {
    this.#beganMs ??= this.#frame.elapsedMs();
  }

  #say(message: Said): string {
    if (this.#frame.only !== null) return "";
    return line({ ...headOf(this.#frame), ...saidIn(this.#frame, message) });
  }

  #finish(end: AnswerDone): string {
    let calls: readonly JsonObject[];
    try {
      calls = writtenCalls(this.#calls, end);
    } catch (thrown) {
      if (!(thrown instanceof Fault)) throw thrown;
      return line({ error: thrown.message });
    }
    const called = calls.length > 0
      ? this.#say({ content: "", tool_calls: calls })
      : "";
    return called + line({
      ...headOf(this.#frame),
      ...saidIn(this.#frame, { content: "" }),
      ...endOf(end, this.#frame, this.#beganMs),
    });
  }
}

/**
 * Write a whole answer as Ollama's one object.
 *
 * @param answer The answer.
 * @param frame What it is about.
 * @throws {Fault} `engine_failed` when a call's arguments are no JSON object.
 */
export function answerOf(answer: WholeAnswer, frame: LineFrame): JsonObject {
  const calls = writtenCalls(answer.calls, answer.end);
  return {
    ...headOf(frame),
    ...saidIn(
      frame,
      frame.only !== null ? { content: "" } : {
        content: answer.text,
        ...(answer.reasoning === "" ? {} : { thinking: answer.reasoning }),
        ...(calls.length > 0 ? { tool_calls: calls } : {}),
      },
    ),
    ...endOf(answer.end, frame, null),
  };
}

interface Said {
  readonly content: string;
  readonly thinking?: string;
  readonly tool_calls?: readonly JsonObject[];
}

function headOf({ model, createdAt }: LineFrame): JsonObject {
  return { model, created_at: createdAt };
}

/** A chat says it in a message, generate in fields of its own. */
function saidIn({ kind }: LineFrame, said: Said): JsonObject {
  const { content, ...rest } = said;
  return kind === "generate"
    ? { response: content, ...rest, done: false }
    : { message: { role: "assistant", ...said }, done: false };
}

function endOf(
  { finish, counts }: AnswerDone,
  { only, elapsedMs }: LineFrame,
  beganMs: number | null,
): JsonObject {
  if (only !== null) return { done: true, done_reason: only };
  const totalMs = elapsedMs();
  const promptMs = counts.promptMs ?? 0;
  // Clients divide by it. Of an engine that does not tell, it is what has
  // passed since the answer began; of a whole answer, since it was asked for.
  const outputMs = counts.outputMs ?? totalMs - (beganMs ?? promptMs);
  return {
    done: true,
    done_reason: finish === "length" ? "length" : "stop",
    total_duration: nanoseconds(totalMs),
    // All that was neither prompt nor answer: queue, load and way.
    load_duration: nanoseconds(Math.max(0, totalMs - promptMs - outputMs)),
    prompt_eval_count: counts.promptTokens ?? 0,
    prompt_eval_duration: nanoseconds(promptMs),
    eval_count: counts.outputTokens ?? 0,
    eval_duration: nanoseconds(outputMs),
  };
}

/**
 * Milliseconds in Ollama's unit.
 *
 * @param ms Milliseconds.
 */
export function nanoseconds(ms: number): number {
  return Math.round(ms * 1e6);
}

/** Ollama's dialect has arguments as objects (TRN-04); a call that a limit cut off is none. */
function writtenCalls(
  calls: readonly WholeCall[],
  { finish }: AnswerDone,
): readonly JsonObject[] {
  const written: JsonObject[] = [];
  for (const [index, call] of calls.entries()) {
    const args = parseObject(call.arguments === "" ? "{}" : call.arguments);
    if (args !== undefined) {
      written.push({
        id: call.id,
        function: { index, name: call.name, arguments: args },
      });
    } else if (finish !== "length") {
      throw new Fault(
        "engine_failed",
        "The engine's answer can not be used: the arguments of a tool call are no JSON object",
        { origin: "engine" },
      );
    }
  }
  return written;
}

function line(value: JsonObject): string {
  return `${JSON.stringify(value)}\n`;
}
