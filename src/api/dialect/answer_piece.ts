/** Tokens and times of an answer as its engine counted them; null where it did not. */
export interface AnswerCounts {
  readonly promptTokens: number | null;
  /** Of these, what was found in a cache. */
  readonly cachedTokens: number | null;
  readonly outputTokens: number | null;
  readonly promptMs: number | null;
  readonly outputMs: number | null;
}

/** Why an answer ended. */
export type AnswerFinish = "stop" | "length" | "tool_calls" | "refused";

/**
 * What an answer of the internal dialect says, one thing at a time: the form
 * between OpenAI's chunks and every other dialect's events.
 */
export type AnswerPiece =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "reasoning"; readonly text: string }
  /** A tool call begins; `index` counts the answer's calls. */
  | {
    readonly kind: "call";
    readonly index: number;
    readonly id: string;
    readonly name: string;
  }
  /** More of a call's arguments, as JSON text. */
  | {
    readonly kind: "arguments";
    readonly index: number;
    readonly text: string;
  }
  /** A sign of life while nothing is there to say. */
  | { readonly kind: "alive" }
  /** The answer is complete. */
  | {
    readonly kind: "done";
    readonly finish: AnswerFinish;
    /** The stop string that ended it, where the engine says. */
    readonly stopText: string | null;
    readonly counts: AnswerCounts;
  }
  /** The answer broke off; nothing follows. */
  | {
    readonly kind: "broken";
    readonly message: string;
    /** Whether it makes sense to ask again soon. */
    readonly busy: boolean;
    readonly origin: "covey" | "engine";
  };

/** The piece that ends an answer well. */
export type AnswerDone = Extract<AnswerPiece, { kind: "done" }>;

/** The piece that ends it badly. */
export type AnswerBroken = Extract<AnswerPiece, { kind: "broken" }>;
