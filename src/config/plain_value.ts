import { accept, refuse, type Verdict } from "./setting.ts";

/**
 * Read a whole number in decimal digits.
 *
 * @param least Smallest one accepted.
 * @param most Largest one accepted.
 */
export function wholeNumber(
  least: number,
  most: number,
): (text: string) => Verdict<number> {
  return (text) => {
    if (!/^[0-9]{1,15}$/.test(text)) return refuse();
    const value = Number(text);
    return value < least || value > most ? refuse() : accept(value);
  };
}

/**
 * Read `auto` or what another parser takes.
 *
 * @param otherwise Parser of everything else.
 */
export function orAuto(
  otherwise: (text: string) => Verdict<number>,
): (text: string) => Verdict<number | null> {
  return (text) =>
    text.toLowerCase() === "auto" ? accept(null) : otherwise(text);
}

/** What `toggle` accepts. */
export const TOGGLE_FORMS = "0, 1, true or false";

/**
 * Read a yes or no.
 *
 * @param text One of `TOGGLE_FORMS`, in either letter case.
 */
export function toggle(text: string): Verdict<boolean> {
  switch (text.toLowerCase()) {
    case "1":
    case "true":
      return accept(true);
    case "0":
    case "false":
      return accept(false);
    default:
      return refuse();
  }
}

/**
 * Read one of a few words.
 *
 * @param words Those accepted.
 */
export function oneOf<Word extends string>(
  words: readonly Word[],
): (text: string) => Verdict<Word> {
  return (text) => {
    const found = words.find((word) => word === text.toLowerCase());
    return found === undefined ? refuse() : accept(found);
  };
}

/**
 * Read a URL without a fragment.
 *
 * @param schemes Schemes accepted, without their colon.
 */
export function urlOf(
  schemes: readonly string[],
): (text: string) => Verdict<string> {
  return (text) => {
    const url = URL.parse(text);
    if (url === null || url.hostname === "" || url.hash !== "") return refuse();
    return schemes.includes(url.protocol.slice(0, -1))
      ? accept(text)
      : refuse();
  };
}

/**
 * Read a text of one line.
 *
 * @param pattern What the whole text must match.
 */
export function matching(pattern: RegExp): (text: string) => Verdict<string> {
  return (text) => pattern.test(text) ? accept(text) : refuse();
}
