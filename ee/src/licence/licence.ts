import type { Log } from "@covey/core/domain";
import { z } from "zod";

/** A licence whose signature was checked. */
export interface Licence {
  /** Names the licence; a seat that it gives carries this. */
  readonly id: string;
  /** Who holds it. */
  readonly holder: string;
  /** Candidate members it allows in all, or null for any number. */
  readonly maxClusterNodes: number | null;
  /** Last moment of admissions by the admitting node's clock, in milliseconds since 1970, or null for no end. */
  readonly notAfterMs: number | null;
}

/** What a licence says, as it is signed. */
export interface LicenceTerms {
  /** See `Licence.id`. */
  readonly id: string;
  /** See `Licence.holder`. */
  readonly holder: string;
  /** A whole number of nodes, or null for any number. */
  readonly maxClusterNodes: number | null;
  /** The last day, `YYYY-MM-DD` in UTC, or null for no end. */
  readonly notAfter: string | null;
}

/** A licence, or why the text is none; the problem never quotes the text. */
export type LicenceResult =
  | { readonly kind: "licence"; readonly licence: Licence }
  | { readonly kind: "bad"; readonly problem: string };

/** What each licence begins with; the number is the form's version. */
export const LICENCE_PREFIX = "covey-licence.1.";
const PREFIX_OF_ANY_VERSION = /^covey-licence\.(\d{1,4})\./;
const LONGEST_LICENCE = 4096;
const SIGNATURE_BYTES = 64;
const KEY_BYTES = 32;
const ALGORITHM = "Ed25519";
const MOST_NODES = 1_000_000;

const termsSchema = z.object({
  // A seat that says `community` must never be a licence's.
  id: z.string().regex(/^(?!community$)[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/),
  holder: z.string().min(1).max(200).refine((text) => !/\p{C}/u.test(text)),
  maxClusterNodes: z.number().int().min(1).max(MOST_NODES).nullable(),
  notAfter: z.iso.date().nullish().transform((text) => text ?? null),
});

/**
 * Check a licence offline.
 *
 * @param text What the operator gave; blanks around it do not count.
 * @param publicKeys Keys of the issuers, each 32 bytes as base64url.
 * @returns The licence, or what is wrong with the text.
 */
export async function checkLicence(
  text: string,
  publicKeys: readonly string[],
): Promise<LicenceResult> {
  const trimmed = text.trim();
  if (trimmed.length > LONGEST_LICENCE) return bad("it is too long");
  const version = PREFIX_OF_ANY_VERSION.exec(trimmed)?.[1];
  if (version === undefined) {
    return bad(`it does not begin with "${LICENCE_PREFIX}"`);
  }
  if (!trimmed.startsWith(LICENCE_PREFIX)) {
    return bad(
      `its form is version ${version}, and this build reads version 1; update Covey`,
    );
  }
  const [body = "", signatureText = "", ...more] = trimmed
    .slice(LICENCE_PREFIX.length).split(".");
  const signature = fromBase64Url(signatureText);
  const bytes = fromBase64Url(body);
  if (
    more.length > 0 || bytes === undefined ||
    signature?.length !== SIGNATURE_BYTES
  ) {
    return bad("it is cut off or garbled");
  }
  const signed = new TextEncoder().encode(LICENCE_PREFIX + body);
  // The signature first: nothing of an unsigned text is interpreted.
  if (!await isSigned(signed, signature, publicKeys)) {
    return bad(
      publicKeys.length === 0
        ? "this build holds no issuer's key to check it with"
        : "no issuer that this build knows has signed it",
    );
  }
  const terms = parseTerms(bytes);
  return terms === undefined
    ? bad("what it says cannot be read; update Covey")
    : { kind: "licence", licence: licenceOf(terms) };
}

/**
 * Sign a licence.
 *
 * @param terms What it says.
 * @param privateKey The issuer's Ed25519 key.
 * @returns The licence as text.
 * @throws {RangeError} When the terms could not be read back.
 */
export async function signLicence(
  terms: LicenceTerms,
  privateKey: CryptoKey,
): Promise<string> {
  const { id, holder, maxClusterNodes, notAfter } = terms;
  // The terms themselves and not their JSON, in which NaN would be "any number".
  if (!termsSchema.safeParse(terms).success) {
    throw new RangeError(
      "Failed to issue the licence: give an id of 1 to 64 letters, digits, dots, dashes or underscores, " +
        "a holder in one line, a whole number of nodes or none, and a day as YYYY-MM-DD or none",
    );
  }
  const signed = LICENCE_PREFIX + toBase64Url(
    new TextEncoder().encode(
      JSON.stringify({ id, holder, maxClusterNodes, notAfter }),
    ),
  );
  const signature = await crypto.subtle.sign(
    ALGORITHM,
    privateKey,
    new TextEncoder().encode(signed),
  );
  return `${signed}.${toBase64Url(new Uint8Array(signature))}`;
}

/**
 * Whether a licence still admits.
 *
 * @param licence The licence.
 * @param nowMs This node's own wall clock; no other clock is asked.
 */
export function isOver(licence: Licence, nowMs: number): boolean {
  return licence.notAfterMs !== null && nowMs > licence.notAfterMs;
}

/**
 * Check the configured licence and say in the log what it is worth.
 *
 * @param text What COVEY_LICENCE holds, or null.
 * @param options Issuers' keys, this node's wall clock, and where to log.
 * @returns The licence, or null when there is none that counts.
 */
export async function openLicence(
  text: string | null,
  options: {
    readonly publicKeys: readonly string[];
    readonly nowMs: number;
    readonly log: Log;
  },
): Promise<Licence | null> {
  if (text === null) return null;
  const { log, nowMs, publicKeys } = options;
  const result = await checkLicence(text, publicKeys);
  if (result.kind === "bad") {
    log.error(
      `COVEY_LICENCE is not accepted: ${result.problem}; the community quota counts until it is replaced`,
    );
    return null;
  }
  const { licence } = result;
  const fields = { id: licence.id, holder: licence.holder };
  if (isOver(licence, nowMs)) {
    log.warn(
      "The licence is over by this node's clock: it admits no further members, and those it seated stay",
      fields,
    );
  } else log.info("The licence counts", fields);
  return licence;
}

async function isSigned(
  signed: Uint8Array<ArrayBuffer>,
  signature: Uint8Array<ArrayBuffer>,
  publicKeys: readonly string[],
): Promise<boolean> {
  for (const text of publicKeys) {
    const raw = fromBase64Url(text);
    if (raw?.length !== KEY_BYTES) {
      throw new TypeError("A licence key of this build has the wrong length");
    }
    const key = await crypto.subtle.importKey("raw", raw, ALGORITHM, false, [
      "verify",
    ]);
    if (await crypto.subtle.verify(ALGORITHM, key, signature, signed)) {
      return true;
    }
  }
  return false;
}

function parseTerms(bytes: Uint8Array): LicenceTerms | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return termsSchema.safeParse(JSON.parse(text)).data;
  } catch {
    // Signed, but not by this form's rules; the caller says so.
    return undefined;
  }
}

/** The last day counts whole. */
function licenceOf(terms: LicenceTerms): Licence {
  const { id, holder, maxClusterNodes, notAfter } = terms;
  const notAfterMs = notAfter === null
    ? null
    : Date.parse(`${notAfter}T23:59:59.999Z`);
  return { id, holder, maxClusterNodes, notAfterMs };
}

function bad(problem: string): LicenceResult {
  return { kind: "bad", problem };
}

function toBase64Url(bytes: Uint8Array): string {
  return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}

function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(text)) return undefined;
  try {
    const bytes = Uint8Array.fromBase64(text, { alphabet: "base64url" });
    // One spelling for one licence: spare bits are zero.
    return toBase64Url(bytes) === text ? bytes : undefined;
  } catch {
    // A length that base64 cannot have.
    return undefined;
  }
}
