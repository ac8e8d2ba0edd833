import type { AnswerHead } from "./answer_head.ts";
import { MalformedAnswerError, quoted } from "./malformed_answer.ts";

/** How the end of a body is found. */
export type BodyFraming =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" }
  | { readonly kind: "until_close" };

const LENGTH = /^\d{1,15}$/;
const KEEP_ALIVE_TIMEOUT = /(?:^|[,\s])timeout=(\d{1,6})(?:$|[,\s])/i;

/**
 * Find out how a body ends (RFC 9112, section 6.3), the answer being one to a
 * POST.
 *
 * @param head The answer's head.
 * @throws {MalformedAnswerError} When two readers could find different ends.
 */
export function framingOf({ status, fields }: AnswerHead): BodyFraming {
  if (status === 204 || status === 304) return { kind: "none" };
  const coding = fields.get("transfer-encoding");
  if (coding !== null) {
    if (coding.toLowerCase() === "chunked") return { kind: "chunked" };
    throw new MalformedAnswerError(
      `An answer is sent as ${quoted(coding)}, which was not asked for`,
    );
  }
  const said = fields.get("content-length");
  if (said === null) return { kind: "until_close" };
  const [length = "", ...others] = said.split(",").map((one) => one.trim());
  if (!LENGTH.test(length) || others.some((other) => other !== length)) {
    throw new MalformedAnswerError(
      `An answer says that it has ${quoted(said)} bytes`,
    );
  }
  return { kind: "length", bytes: Number(length) };
}

/**
 * Whether a server takes another request on the connection, once the body has
 * come to its end.
 *
 * @param head The answer's head.
 */
export function keepsAlive({ isOld, fields }: AnswerHead): boolean {
  // A length beside chunks: whoever wrote it may disagree about the end.
  const isUnclear = fields.get("transfer-encoding") !== null &&
    fields.get("content-length") !== null;
  if (isOld || isUnclear) return false;
  const options = fields.get("connection");
  return options === null ||
    !options.toLowerCase().split(",").some((one) => one.trim() === "close");
}

/**
 * How long a server says that it keeps an idle connection.
 *
 * @param head The answer's head.
 * @returns Milliseconds, or null where nothing is said.
 */
export function keptForMs({ fields }: AnswerHead): number | null {
  const said = KEEP_ALIVE_TIMEOUT.exec(fields.get("keep-alive") ?? "")?.[1];
  return said === undefined ? null : Number(said) * 1000;
}
