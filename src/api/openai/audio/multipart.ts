import { Fault } from "../../../domain/mod.ts";

/** One part of a form. */
export interface FormPart {
  readonly name: string;
  /** Name of the file, or null where the part is none. */
  readonly filename: string | null;
  readonly contentType: string;
  /** Its bytes, as a view into the body. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const MOST_PARTS = 128;
const LONGEST_HEAD_BYTES = 16 * 1024;
const CR = 0x0d;
const LF = 0x0a;
const DASH = 0x2d;

/**
 * Read a `multipart/form-data` body (RFC 7578). A line that merely begins like
 * the boundary is content (RFC 2046, 5.1.1).
 *
 * @param bytes The whole body.
 * @param contentType The request's content type.
 * @returns The parts, in order.
 * @throws {Fault} `invalid_request` that says what is wrong, `unsupported_media_type` for another type.
 */
export function parseMultipart(
  bytes: Uint8Array<ArrayBuffer>,
  contentType: string,
): readonly FormPart[] {
  const delimiter = new TextEncoder().encode(`--${boundaryOf(contentType)}`);
  const parts: FormPart[] = [];
  let next = findDelimiter(bytes, delimiter, 0);
  if (next === null) throw broken("it does not begin with its boundary");
  while (!next.last) {
    const start: number = next.after;
    next = findDelimiter(bytes, delimiter, start);
    if (next === null) throw broken("it ends before its last boundary");
    if (parts.length >= MOST_PARTS) {
      throw broken(`it has more than ${MOST_PARTS} parts`);
    }
    parts.push(parsePart(bytes.subarray(start, Math.max(start, next.before))));
  }
  return parts;
}

function boundaryOf(contentType: string): string {
  if (!/^\s*multipart\/form-data\s*(;|$)/i.test(contentType)) {
    throw new Fault(
      "unsupported_media_type",
      "Cannot read this body as a form; send multipart/form-data",
      { param: "content-type" },
    );
  }
  const boundary = parameterOf(contentType, "boundary");
  if (boundary === null || boundary === "" || boundary.length > 200) {
    throw broken("its content-type names no boundary");
  }
  return boundary;
}

interface Delimiter {
  /** Where the content before it ends. */
  readonly before: number;
  /** Where the content after it begins. */
  readonly after: number;
  readonly last: boolean;
}

/** The next line that is the boundary and nothing else but blanks. */
function findDelimiter(
  bytes: Uint8Array,
  delimiter: Uint8Array,
  from: number,
): Delimiter | null {
  // The line's end before a boundary belongs to it, and may be the head's own.
  for (let at = from; at >= 0 && at < bytes.length;) {
    if (startsAt(bytes, delimiter, at)) {
      let end = at + delimiter.length;
      const last = bytes[end] === DASH && bytes[end + 1] === DASH;
      if (last) end += 2;
      while (bytes[end] === 0x20 || bytes[end] === 0x09) end++;
      const isLine = bytes[end] === CR && bytes[end + 1] === LF;
      if (isLine || (last && end === bytes.length)) {
        return { before: at - 2, after: end + 2, last };
      }
    }
    const feed = nextLine(bytes, at);
    if (feed === null) return null;
    at = feed;
  }
  return null;
}

/** Where the next line after a CR LF begins. */
function nextLine(bytes: Uint8Array, from: number): number | null {
  for (let at = from; (at = bytes.indexOf(CR, at)) >= 0; at++) {
    if (bytes[at + 1] === LF) return at + 2;
  }
  return null;
}

function startsAt(
  bytes: Uint8Array,
  wanted: Uint8Array,
  at: number,
): boolean {
  for (let index = 0; index < wanted.length; index++) {
    if (bytes[at + index] !== wanted[index]) return false;
  }
  return true;
}

function parsePart(bytes: Uint8Array<ArrayBuffer>): FormPart {
  const headers = new Map<string, string>();
  for (let at = 0;;) {
    const end = nextLine(bytes, at);
    if (end === null || end > LONGEST_HEAD_BYTES) {
      throw broken("a part of it has no head");
    }
    const line = new TextDecoder().decode(bytes.subarray(at, end - 2));
    at = end;
    if (line === "") {
      const disposition = headers.get("content-disposition") ?? "";
      const name = parameterOf(disposition, "name");
      if (name === null) throw broken("a part of it has no name");
      return {
        name,
        filename: filenameOf(disposition),
        contentType: headers.get("content-type") ?? "text/plain",
        bytes: bytes.subarray(at),
      };
    }
    const colon = line.indexOf(":");
    if (colon < 1) throw broken("a part of it has a broken head");
    headers.set(
      line.slice(0, colon).trim().toLowerCase(),
      line.slice(colon + 1).trim(),
    );
  }
}

function filenameOf(disposition: string): string | null {
  const encoded = /^utf-8'[^']*'(.*)$/i
    .exec(parameterOf(disposition, "filename*") ?? "")?.[1];
  return (encoded === undefined ? null : percentDecoded(encoded)) ??
    parameterOf(disposition, "filename");
}

function percentDecoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
}

/** A parameter of a header; quotes in it are `\"` to curl and `%22` to browsers. */
function parameterOf(header: string, wanted: string): string | null {
  const each = /;\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;"]*))/g;
  for (const [, name, quoted, bare] of header.matchAll(each)) {
    if (name?.toLowerCase() !== wanted) continue;
    if (quoted === undefined) return (bare ?? "").trim();
    return quoted.replace(/\\(["\\])/g, "$1")
      .replace(/%22/g, '"').replace(/%0D/gi, "\r").replace(/%0A/gi, "\n");
  }
  return null;
}

function broken(why: string): Fault {
  return new Fault("invalid_request", `The form can not be read: ${why}`);
}
