/** A stretch of speech. */
export interface Segment {
  /** Where it begins and ends, in seconds from the beginning. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A word with its times. */
export interface Word {
  readonly word: string;
  /** Where it begins and ends, in seconds from the beginning. */
  readonly start: number;
  readonly end: number;
}

/** What was heard. */
export interface Transcript {
  readonly text: string;
  /** Its stretches, as far as the program tells where they are; else empty. */
  readonly segments: readonly Segment[];
  /** Its words; null where the program does not tell where they are. */
  readonly words: readonly Word[] | null;
  /** As the program says; null where it does not. */
  readonly language: string | null;
}
