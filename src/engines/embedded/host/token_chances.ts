import type { LlamaModel, Token } from "node-llama-cpp";

/** How likely a token was, as a natural logarithm. */
export interface TokenChance {
  /** What it adds to the text; U+FFFD where it is no whole character. */
  readonly text: string;
  readonly logprob: number;
}

/** A token of an answer, and the likeliest ones in its place. */
export interface ChosenToken extends TokenChance {
  /** The likeliest first. */
  readonly top: readonly TokenChance[];
}

/** What the sampler told of a token. */
export interface SampledToken {
  readonly token: Token;
  /** Chance of the token alone. */
  readonly confidence?: number;
  /** Chances of all tokens that were left to choose from, the likeliest first. */
  readonly probabilities?: ReadonlyMap<Token, number>;
}

/** OpenAI's logarithm for what is next to impossible. */
const LEAST = -9999;

/**
 * Turn what the sampler told into logarithms at temperature 1, as OpenAI's API
 * has them whatever the temperature.
 *
 * @param sampled The token; its `confidence` suffices where `needsAll` says no.
 * @param temperature What the sampler divided by.
 * @param count Likeliest tokens to name.
 * @param textOf Text of a token in its place.
 */
export function chosenToken(
  sampled: SampledToken,
  temperature: number,
  count: number,
  textOf: (token: Token) => string,
): ChosenToken {
  const { token, confidence = 0, probabilities } = sampled;
  const text = textOf(token);
  if (probabilities === undefined) {
    return { text, logprob: logOf(confidence), top: [] };
  }
  // Scaled chances to the power of the temperature are in proportion to the model's own.
  const power = temperature === 0 ? 1 : temperature;
  let sum = 0;
  if (power === 1) sum = 1;
  else for (const chance of probabilities.values()) sum += chance ** power;
  const norm = Math.log(sum);
  const logprobOf = (chance: number) =>
    chance > 0 ? Math.max(LEAST, power * Math.log(chance) - norm) : LEAST;
  const top: TokenChance[] = [];
  for (const [other, chance] of probabilities) {
    if (top.length >= count) break;
    top.push({ text: textOf(other), logprob: logprobOf(chance) });
  }
  return { text, logprob: logprobOf(probabilities.get(token) ?? 0), top };
}

/**
 * Tell whether the chances of all tokens are needed, which large vocabularies
 * take a while to tell.
 *
 * @param temperature What the sampler divides by.
 * @param count Likeliest tokens to name.
 */
export function needsAll(temperature: number, count: number): boolean {
  return count > 0 || (temperature !== 0 && temperature !== 1);
}

function logOf(chance: number): number {
  return chance > 0 ? Math.max(LEAST, Math.log(chance)) : LEAST;
}

/**
 * Text of one token behind others.
 *
 * @param model Whose vocabulary.
 * @param token The token.
 * @param before What stands before it; the last ones decide about spaces.
 */
export function textOfToken(
  model: LlamaModel,
  token: Token,
  before: readonly Token[],
): string {
  return model.detokenize([token], true, before.slice(-CONTEXT_TOKENS));
}

const CONTEXT_TOKENS = 4;

interface HeldToken {
  /** Where its text begins and ends in the answer's. */
  readonly start: number;
  readonly end: number;
  readonly token: ChosenToken;
}

/**
 * Keeps the tokens of an answer until the text that they make is let through.
 */
export class HeldTokens {
  readonly #held: HeldToken[] = [];
  #end = 0;
  #shown = 0;

  /**
   * Put a token in.
   *
   * @param token What is known of it.
   * @param piece Text that is whole by it.
   */
  push(token: ChosenToken, piece: string): void {
    const start = this.#end;
    this.#end += piece.length;
    this.#held.push({ start, end: this.#end, token });
  }

  /**
   * Take the tokens of a text that is shown; one that is shown in part counts.
   *
   * @param text What is shown next.
   */
  take(text: string): readonly ChosenToken[] {
    this.#shown += text.length;
    const isShown = ({ start, end }: HeldToken) =>
      start < this.#shown || end <= this.#shown;
    const hidden = this.#held.findIndex((one) => !isShown(one));
    const count = hidden < 0 ? this.#held.length : hidden;
    return this.#held.splice(0, count).map(({ token }) => token);
  }
}
