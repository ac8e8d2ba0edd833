import { Secret } from "../domain/mod.ts";
import { accept, refuse, type Verdict } from "./setting.ts";

/** Fewest characters of a cluster secret. */
export const SECRET_LEAST_LENGTH = 16;
/** Fewest different characters of a cluster secret. */
export const SECRET_LEAST_DISTINCT = 8;
const LONGEST = 1_024;
const CONTROL = /\p{Cc}/u;

/** What a cluster secret must be. */
export const SECRET_FORMS =
  `at least ${SECRET_LEAST_LENGTH} characters, ${SECRET_LEAST_DISTINCT} of them different, on one line (\`covey secret\` makes a strong one)`;

/**
 * Read a cluster secret. Guesses can be tested only on line, one a run, so
 * that this bound keeps out what a list of common passwords would find.
 *
 * @param text The secret; composed and decomposed accents count as the same.
 */
export function clusterSecret(text: string): Verdict<Secret> {
  const value = text.normalize("NFC");
  if (CONTROL.test(value) || value.length > LONGEST) return refuse();
  const characters = [...value];
  return characters.length >= SECRET_LEAST_LENGTH &&
      new Set(characters).size >= SECRET_LEAST_DISTINCT
    ? accept(new Secret(value))
    : refuse();
}

/** What a client key must be. */
export const API_KEY_FORMS =
  "keys of 1 to 256 visible ASCII characters, separated by commas or line breaks";

/**
 * Read client keys.
 *
 * @param text The keys, separated by commas, blanks or line breaks.
 */
export function apiKeys(text: string): Verdict<readonly Secret[]> {
  const keys = [...new Set(text.split(/[\s,]+/).filter((key) => key !== ""))];
  if (keys.length === 0 || keys.length > 256) return refuse();
  return keys.every((key) => /^[\x21-\x7e]{1,256}$/.test(key))
    ? accept(keys.map((key) => new Secret(key)))
    : refuse();
}

/**
 * Read any other secret of one line.
 *
 * @param text The secret.
 */
export function anySecret(text: string): Verdict<Secret> {
  return CONTROL.test(text) || text.length > 4_096
    ? refuse()
    : accept(new Secret(text));
}
