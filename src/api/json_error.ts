/** Where a text stops being JSON. */
export interface JsonFlaw {
  /** UTF-16 offset of the first character that cannot stand there. */
  readonly offset: number;
  /** What would have been accepted there. */
  readonly expected: string;
}

const SPACE = /[ \t\n\r]*/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

type Awaiting = "value" | "value_or_end" | "key" | "key_or_end" | "next";

const EXPECTED: Readonly<Record<Awaiting, string>> = {
  value: "a value",
  value_or_end: 'a value or "]"',
  key: "a key in double quotes",
  key_or_end: 'a key in double quotes or "}"',
  next: '"," or the closing bracket',
};

/**
 * Find where a text stops being JSON, for the error message alone: the
 * runtime's parser says so for some faults and not for others.
 *
 * @param text What the runtime refused to parse.
 * @returns The first flaw, or undefined when the text is JSON.
 */
export function findJsonFlaw(text: string): JsonFlaw | undefined {
  const open: ("}" | "]")[] = [];
  let awaiting: Awaiting = "value";
  let at = 0;
  for (;;) {
    at = past(SPACE, text, at) ?? at;
    if (awaiting === "next" && open.length === 0) {
      return at === text.length
        ? undefined
        : { offset: at, expected: "the end" };
    }
    const char = text[at];
    const closing = open.at(-1);
    if (
      char !== undefined && char === closing &&
      (awaiting === "next" || awaiting.endsWith("_or_end"))
    ) {
      open.pop();
      at++;
      awaiting = "next";
    } else if (awaiting === "next") {
      if (char !== ",") return flaw(at, awaiting);
      at++;
      awaiting = closing === "}" ? "key" : "value";
    } else if (awaiting === "key" || awaiting === "key_or_end") {
      if (char !== '"') return flaw(at, awaiting);
      const end = pastString(text, at);
      if (typeof end !== "number") return end;
      at = past(SPACE, text, end) ?? end;
      if (text[at] !== ":") return { offset: at, expected: '":"' };
      at++;
      awaiting = "value";
    } else if (char === "{") {
      open.push("}");
      at++;
      awaiting = "key_or_end";
    } else if (char === "[") {
      open.push("]");
      at++;
      awaiting = "value_or_end";
    } else if (char === '"') {
      const end = pastString(text, at);
      if (typeof end !== "number") return end;
      at = end;
      awaiting = "next";
    } else {
      const end = past(SCALAR, text, at);
      if (end === undefined) return flaw(at, awaiting);
      at = end;
      awaiting = "next";
    }
  }
}

function flaw(offset: number, awaiting: Awaiting): JsonFlaw {
  return { offset, expected: EXPECTED[awaiting] };
}

const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** By hand, since an expression that repeats per character overflows on long strings. */
function pastString(text: string, at: number): number | JsonFlaw {
  for (let here = at + 1;;) {
    const char = text[here];
    if (char === '"') return here + 1;
    if (char === undefined) {
      return { offset: here, expected: "a closing quote" };
    }
    if (char < " ") {
      return { offset: here, expected: "an escaped control character" };
    }
    if (char !== "\\") here++;
    else {
      const end = past(ESCAPE, text, here);
      if (end === undefined) {
        return { offset: here, expected: "a valid escape" };
      }
      here = end;
    }
  }
}

function past(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

/**
 * Tell how deep arrays and objects are nested, without parsing: what is too
 * deep must not reach code that recurses.
 *
 * @param bytes JSON as UTF-8; anything else gives a number without meaning.
 * @param limit Stop counting once this is exceeded.
 * @returns The depth, or `limit + 1` when it is greater than the limit.
 */
export function jsonDepth(bytes: Uint8Array, limit: number): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (inString) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === BRACE || byte === BRACKET) {
      if (++depth > deepest) deepest = depth;
      if (deepest > limit) return deepest;
    } else if (byte === BRACE_END || byte === BRACKET_END) depth--;
  }
  return deepest;
}

const QUOTE = 0x22;
const BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const BRACKET_END = 0x5d;
const BRACE = 0x7b;
const BRACE_END = 0x7d;
