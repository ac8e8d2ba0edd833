import { MalformedAnswerError, quoted } from "./malformed_answer.ts";

/** More fields than any engine sends. */
const MOST_FIELDS = 256;
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/;
/** RFC 9110, section 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
/** What no field holds: an answer cut in two, or no text at all. */
// deno-lint-ignore no-control-regex
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/;

/** What stands before the body of an answer. */
export interface AnswerHead {
  readonly status: number;
  /** Whether the server speaks HTTP/1.0, which ends a connection with its answer. */
  readonly isOld: boolean;
  readonly fields: AnswerFields;
}

/** The fields of a head, by names in any case. */
export class AnswerFields {
  readonly #fields: ReadonlyMap<string, string>;

  /** @param fields Values by names in small letters. */
  constructor(fields: ReadonlyMap<string, string>) {
    this.#fields = fields;
  }

  /**
   * The value of a field; those of one name stand with commas between them.
   *
   * @param name In any case.
   */
  get(name: string): string | null {
    return this.#fields.get(name.toLowerCase()) ?? null;
  }
}

/**
 * Read the head of an answer (RFC 9112, sections 4 and 5).
 *
 * @param text Its lines, each byte a character, without the blank one.
 * @returns The head.
 * @throws {MalformedAnswerError} When it is none.
 */
export function parseAnswerHead(text: string): AnswerHead {
  const lines = text.split("\n");
  const first = withoutReturn(lines[0] ?? "");
  const [, minor, status] = STATUS_LINE.exec(first) ?? [];
  if (status === undefined) {
    throw new MalformedAnswerError(
      `No HTTP/1.1 answer begins with ${quoted(first)}`,
    );
  }
  if (lines.length - 1 > MOST_FIELDS) {
    throw new MalformedAnswerError(
      `An answer has ${
        lines.length - 1
      } header fields, more than ${MOST_FIELDS}`,
    );
  }
  const fields = new Map<string, string>();
  for (let at = 1; at < lines.length; at++) {
    addField(fields, withoutReturn(lines[at] ?? ""));
  }
  return {
    status: Number(status),
    isOld: minor === "0",
    fields: new AnswerFields(fields),
  };
}

function addField(fields: Map<string, string>, line: string): void {
  const colon = line.indexOf(":");
  const name = line.slice(0, Math.max(0, colon)).toLowerCase();
  const value = line.slice(colon + 1).trim();
  // A line that goes on from the one before begins with a blank, which no name has.
  if (!TOKEN.test(name) || CONTROL.test(value)) {
    throw new MalformedAnswerError(
      `No header field can be read in ${quoted(line)}`,
    );
  }
  const before = fields.get(name);
  fields.set(name, before === undefined ? value : `${before}, ${value}`);
}

function withoutReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}
