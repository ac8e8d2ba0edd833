/**
 * Text of tokens, given the ones before them; what is no whole character at
 * the end reads as U+FFFD.
 */
export type Detokenize = (
  tokens: readonly number[],
  before: readonly number[],
) => string;

const REPLACEMENT = "\uFFFD";
/** A character has at most four bytes and a token at least one. */
const LONGEST_CHARACTER_TOKENS = 4;
/** Tokens of the past that decide about spaces. */
const CONTEXT_TOKENS = 4;

/** Turns tokens into text, holding back tokens until their character is whole. */
export class TokenText {
  readonly #detokenize: Detokenize;
  #before: number[];
  #pending: number[] = [];

  /**
   * @param detokenize The model's detokenizer.
   * @param before Tokens of the prompt, whose last ones decide about spaces.
   */
  constructor(detokenize: Detokenize, before: readonly number[]) {
    this.#detokenize = detokenize;
    this.#before = before.slice(-CONTEXT_TOKENS);
  }

  /**
   * Put a token in.
   *
   * @param token Its id.
   * @returns Text that is whole by now, often the token's own.
   */
  push(token: number): string {
    this.#pending.push(token);
    const text = this.#detokenize(this.#pending, this.#before);
    if (!text.endsWith(REPLACEMENT)) return this.#take(text, 0);
    if (this.#pending.length < LONGEST_CHARACTER_TOKENS) return "";
    // Four tokens and no character: the first of them belongs to none.
    const first = this.#detokenize(this.#pending.slice(0, 1), this.#before);
    return this.#take(first, this.#pending.length - 1);
  }

  /**
   * End the tokens.
   *
   * @returns Text of those held back, with U+FFFD for what is no character.
   */
  flush(): string {
    if (this.#pending.length === 0) return "";
    return this.#take(this.#detokenize(this.#pending, this.#before), 0);
  }

  #take(text: string, kept: number): string {
    const done = this.#pending.length - kept;
    this.#before = [...this.#before, ...this.#pending.slice(0, done)]
      .slice(-CONTEXT_TOKENS);
    this.#pending = this.#pending.slice(done);
    return text;
  }
}
