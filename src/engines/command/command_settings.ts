/** What a program prints or writes of what it heard. */
export type TranscriptForm =
  /** The words on standard output. */
  | "text"
  /** As PocketSphinx prints with `-time yes`: lines of words, each word with its times. */
  | "sphinx"
  /** As whisper.cpp writes with `-oj`: `{output}.json`. */
  | "whisper-json"
  /** The same with `-ojf`, which times each word. */
  | "whisper-json-full";

interface Program {
  /** Name in requests. */
  readonly id: string;
  /**
   * Program and arguments; no shell reads them. `{input}` is the file to read,
   * `{output}` the one to write, `{voice}`, `{language}`, `{speed}` (1 is
   * normal) and `{wpm}` (words a minute) what the caller asked for. An argument
   * that is a placeholder without a value goes, with the option before it.
   */
  readonly command: readonly string[];
  /** Requests it may work at side by side, each with a process of its own. */
  readonly slots: number;
  /** Longest time of one request, in milliseconds. */
  readonly timeLimitMs: number;
}

/** A program that speaks: text in by `{input}` or standard input, a WAV file out. */
export interface SpeechProgram extends Program {
  readonly capability: "speech";
  readonly output: "wav";
  /** Its voice for callers that name none of its own; absent for the program's choice. */
  readonly voice?: string;
}

/** A program that listens: a WAV file of 16 kHz in by `{input}`, text out. */
export interface TranscriptionProgram extends Program {
  readonly capability: "transcription";
  readonly output: TranscriptForm;
  /** Its language for callers that name none; absent for the program's choice. */
  readonly language?: string;
}

/** A model of a command engine. */
export type CommandModel = SpeechProgram | TranscriptionProgram;

/** A command engine: programs that do one request each. */
export interface CommandSettings {
  readonly id: string;
  readonly models: readonly CommandModel[];
}
