import { isJsonObject, type JsonValue } from "../../domain/mod.ts";

/** A stretch of speech. */
export interface Segment {
  /** Where it begins and ends, in seconds from the beginning. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** What was heard. */
export interface Transcript {
  readonly text: string;
  /** Its stretches, as far as the program tells where they are; else empty. */
  readonly segments: readonly Segment[];
  /** As the program says; null where it does not. */
  readonly language: string | null;
}

/** A word with its times and how sure PocketSphinx is of it. */
const TIMED_WORD = /^(\S+) (\d+\.\d+) (\d+\.\d+) \d+\.\d+$/;
/** Silence, noise and the ends of an utterance. */
const NO_WORD = /^(?:<.*>|\[.*\]|\+\+.*\+\+)$/;

/**
 * Read what PocketSphinx prints with `-time yes`: each utterance as a line,
 * then a line for each of its words.
 *
 * @param output All it printed.
 * @returns The transcript; an utterance is a segment.
 */
export function readSphinx(output: string): Transcript {
  const segments: { start: number; end: number; text: string }[] = [];
  for (const line of output.split("\n")) {
    const [, word, start, end] = TIMED_WORD.exec(line.trim()) ?? [];
    const last = segments.at(-1);
    if (word === undefined) {
      if (line.trim() !== "") {
        segments.push({ start: -1, end: 0, text: line.trim() });
      }
    } else if (last !== undefined && !NO_WORD.test(word)) {
      if (last.start < 0) last.start = Number(start);
      last.end = Number(end);
    }
  }
  return {
    text: segments.map(({ text }) => text).join(" "),
    segments: segments.filter(({ start }) => start >= 0),
    language: null,
  };
}

/**
 * Read the file that whisper.cpp writes with `-oj`.
 *
 * @param file Its text.
 * @returns The transcript, or undefined when it has another form.
 */
export function readWhisperJson(file: string): Transcript | undefined {
  let value: JsonValue;
  try {
    value = JSON.parse(file);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  if (!isJsonObject(value) || !Array.isArray(value.transcription)) {
    return undefined;
  }
  const segments: Segment[] = [];
  for (const part of value.transcription) {
    if (!isJsonObject(part) || !isJsonObject(part.offsets)) return undefined;
    const { text, offsets: { from, to } } = part;
    if (
      typeof text !== "string" || typeof from !== "number" ||
      typeof to !== "number"
    ) return undefined;
    segments.push({ start: from / 1000, end: to / 1000, text: text.trim() });
  }
  const { result } = value;
  return {
    text: segments.map(({ text }) => text).join(" ").trim(),
    segments,
    language: isJsonObject(result) && typeof result.language === "string"
      ? result.language
      : null,
  };
}
