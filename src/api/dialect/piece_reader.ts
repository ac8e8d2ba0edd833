import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseExactJson,
} from "../../domain/mod.ts";
import type {
  AnswerBroken,
  AnswerCounts,
  AnswerDone,
  AnswerFinish,
  AnswerPiece,
} from "./answer_piece.ts";
import { ToolCallSeats } from "./tool_call_seats.ts";

/**
 * Reads an answer of the internal dialect, chunk by chunk or whole, into
 * pieces. Pure but for what it remembers of the answer so far. Of several
 * choices only the first is read: the other dialects know no more.
 */
export class PieceReader {
  readonly #seats: ToolCallSeats;
  #finish: AnswerFinish | null = null;
  #stopText: string | null = null;
  #usage: JsonObject = {};
  #timings: JsonObject = {};
  #called = false;
  #over = false;

  /** @param seed Makes ids that an engine left out unique to this answer. */
  constructor(seed: string) {
    this.#seats = new ToolCallSeats(seed);
  }

  /** Whether the answer came to an end, good or bad. */
  get over(): boolean {
    return this.#over;
  }

  /**
   * Read the data of one event.
   *
   * @param data What the event's `data:` lines hold.
   * @returns What it says.
   */
  event(data: string): readonly AnswerPiece[] {
    if (this.#over) return [];
    if (data.trim() === "[DONE]") return [this.#done()];
    const json = parse(data);
    if (!isJsonObject(json)) {
      return [this.broken("The engine sent an event that is no JSON object")];
    }
    if (json.error !== undefined && json.error !== null) {
      this.#over = true;
      return [errorPiece(json.error)];
    }
    return this.#chunk(json);
  }

  /**
   * Read a whole answer.
   *
   * @param answer The answer.
   * @returns All it says, its end included.
   */
  whole(answer: JsonObject): readonly AnswerPiece[] {
    const choices = Array.isArray(answer.choices) ? answer.choices : [];
    return [
      ...this.#chunk({
        ...answer,
        choices: choices.map((choice) =>
          isJsonObject(choice)
            ? { ...choice, delta: choice.message ?? {} }
            : choice
        ),
      }),
      this.#done(),
    ];
  }

  /**
   * End an answer that did not end by itself (SSE-04).
   *
   * @param message What the client is told.
   * @returns The last piece.
   */
  broken(message: string): AnswerBroken {
    this.#over = true;
    return { kind: "broken", message, busy: false, origin: "engine" };
  }

  #done(): AnswerDone {
    this.#over = true;
    const finish = this.#finish ?? "stop";
    return {
      kind: "done",
      // Some engines say "stop" where calls were made.
      finish: this.#called && finish === "stop" ? "tool_calls" : finish,
      stopText: this.#stopText,
      counts: countsOf(this.#usage, this.#timings),
    };
  }

  #chunk(json: JsonObject): AnswerPiece[] {
    if (isJsonObject(json.usage)) this.#usage = json.usage;
    if (isJsonObject(json.timings)) this.#timings = json.timings;
    const choices = Array.isArray(json.choices) ? json.choices : [];
    const pieces: AnswerPiece[] = [];
    for (const choice of choices) {
      if (!isJsonObject(choice) || (choice.index ?? 0) !== 0) continue;
      const delta = isJsonObject(choice.delta) ? choice.delta : {};
      add(pieces, "reasoning", delta.reasoning_content ?? delta.reasoning);
      add(pieces, "text", delta.content);
      add(pieces, "text", delta.refusal);
      // Plain completions.
      add(pieces, "text", choice.text);
      if (Array.isArray(delta.tool_calls)) {
        for (const entry of delta.tool_calls) this.#call(entry, pieces);
      }
      this.#finish = finishOf(choice.finish_reason) ?? this.#finish;
      if (typeof choice.stop_reason === "string") {
        this.#stopText = choice.stop_reason;
      }
    }
    return pieces;
  }

  #call(entry: JsonValue, pieces: AnswerPiece[]): void {
    const seat = this.#seats.take(entry);
    if (seat === null) return;
    this.#called = true;
    const { index, id, name, begins, added } = seat;
    if (begins) pieces.push({ kind: "call", index, id, name });
    if (added !== "") pieces.push({ kind: "arguments", index, text: added });
  }
}

function add(
  pieces: AnswerPiece[],
  kind: "text" | "reasoning",
  value: JsonValue | undefined,
): void {
  const text = textOf(value);
  if (text !== "") pieces.push({ kind, text });
}

/** Content is a string, or in some engines an array of parts. */
function textOf(value: JsonValue | undefined): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return "";
  return value.map((part) =>
    isJsonObject(part) && typeof part.text === "string" ? part.text : ""
  ).join("");
}

function finishOf(value: JsonValue | undefined): AnswerFinish | null {
  switch (value) {
    case "length":
      return "length";
    case "tool_calls":
    case "function_call":
      return "tool_calls";
    case "content_filter":
      return "refused";
    default:
      return typeof value === "string" ? "stop" : null;
  }
}

function countsOf(usage: JsonObject, timings: JsonObject): AnswerCounts {
  const details = isJsonObject(usage.prompt_tokens_details)
    ? usage.prompt_tokens_details
    : {};
  const prompt = count(usage.prompt_tokens);
  const fresh = count(timings.prompt_n);
  const cached = count(details.cached_tokens) ?? count(timings.cache_n);
  return {
    promptTokens: prompt ?? (fresh === null ? null : fresh + (cached ?? 0)),
    cachedTokens: cached,
    outputTokens: count(usage.completion_tokens) ?? count(timings.predicted_n),
    promptMs: count(timings.prompt_ms),
    outputMs: count(timings.predicted_ms),
  };
}

function count(value: JsonValue | undefined): number | null {
  return typeof value === "number" && value >= 0 ? value : null;
}

function errorPiece(error: JsonValue): AnswerBroken {
  const detail = isJsonObject(error) ? error : { message: error };
  return {
    kind: "broken",
    message: typeof detail.message === "string" && detail.message !== ""
      ? detail.message
      : "The engine reported an error",
    busy: detail.type === "rate_limit_error",
    origin: detail.origin === "covey" ? "covey" : "engine",
  };
}

function parse(data: string): JsonValue | undefined {
  try {
    return parseExactJson(data);
  } catch {
    // What is no JSON is no event; the caller says so.
    return undefined;
  }
}
