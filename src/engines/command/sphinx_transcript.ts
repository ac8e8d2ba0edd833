import type { Transcript, Word } from "./transcript.ts";

/** A word with its times and how sure PocketSphinx is of it. */
const TIMED_WORD = /^(\S+) (\d+\.\d+) (\d+\.\d+) \d+\.\d+$/;
/** Silence, noise and the ends of an utterance. */
const NO_WORD = /^(?:<.*>|\[.*\]|\+\+.*\+\+)$/;
/** Which of its pronunciations was heard. */
const VARIANT = /\(\d+\)$/;

/**
 * Read what PocketSphinx prints with `-time yes`: each utterance as a line,
 * then a line for each of its words.
 *
 * @param output All it printed.
 * @returns The transcript; an utterance is a segment.
 */
export function readSphinx(output: string): Transcript {
  const segments: { start: number; end: number; text: string }[] = [];
  const words: Word[] = [];
  for (const line of output.split("\n")) {
    const [, word, from, to] = TIMED_WORD.exec(line.trim()) ?? [];
    const last = segments.at(-1);
    if (word === undefined) {
      if (line.trim() !== "") {
        segments.push({ start: -1, end: 0, text: line.trim() });
      }
    } else if (last !== undefined && !NO_WORD.test(word)) {
      const start = Number(from);
      const end = Number(to);
      if (last.start < 0) last.start = start;
      last.end = end;
      words.push({ word: word.replace(VARIANT, ""), start, end });
    }
  }
  return {
    text: segments.map(({ text }) => text).join(" "),
    segments: segments.filter(({ start }) => start >= 0),
    words,
    language: null,
  };
}
