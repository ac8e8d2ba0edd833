import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { type KeyHash, keyHashBytes } from "../identity/key_hash.ts";
import { kindByte } from "./admission_kind.ts";
import { type AdmissionWay, wayBytes } from "./admission_way.ts";
import { type CpaceInputs, type CpaceTranscript, lvCat } from "./cpace.ts";

/** Version of the exchange; it is part of what both sides must agree on. */
export const EXCHANGE_VERSION = 1;

const encoder = new TextEncoder();
const LABEL = encoder.encode("covey admission");

/** What fixes one run before any point is sent. */
export interface RunTerms {
  readonly way: AdmissionWay;
  /** The password itself: derived from the secret, the token's key, or the code. */
  readonly prs: Uint8Array;
  /** Key hash of who asks, as this side took it from TLS. */
  readonly initiator: KeyHash;
  /** Key hash of who answers, as this side took it from TLS. */
  readonly responder: KeyHash;
  readonly initiatorNonce: Uint8Array;
  readonly responderNonce: Uint8Array;
}

/**
 * The inputs of CPace for a run: a relay between two honest nodes changes a
 * key hash, and with it the channel identifier.
 *
 * @param terms The run's terms.
 * @returns PRS, CI and sid.
 */
export function cpaceInputs(terms: RunTerms): CpaceInputs {
  const kind = Uint8Array.of(kindByte(terms.way.kind));
  const prs = new Uint8Array(1 + terms.prs.length);
  prs.set(kind);
  prs.set(terms.prs, 1);
  return {
    prs,
    ci: lvCat(
      LABEL,
      Uint8Array.of(EXCHANGE_VERSION),
      kind,
      keyHashBytes(terms.initiator),
      keyHashBytes(terms.responder),
      ...wayBytes(terms.way),
    ),
    sid: lvCat(terms.initiatorNonce, terms.responderNonce),
  };
}

/** What a tag vouches for: who made it, and at which point of the run. */
export type TagPurpose =
  | "initiator confirms"
  | "responder confirms"
  | "initiator payload"
  | "responder payload";

/** The keys of one run; each tag purpose has its own. */
export class SessionKeys {
  readonly #isk: Uint8Array;
  readonly #sid: Uint8Array;

  /**
   * @param isk The intermediate session key of CPace.
   * @param sid The run's session identifier.
   */
  constructor(isk: Uint8Array, sid: Uint8Array) {
    this.#isk = isk;
    this.#sid = sid;
  }

  /**
   * Make a tag (HMAC-SHA-512).
   *
   * @param purpose What it vouches for.
   * @param content What it covers.
   * @returns 64 bytes.
   */
  tag(purpose: TagPurpose, content: Uint8Array): Uint8Array<ArrayBuffer> {
    const key = hkdfSync(
      "sha512",
      this.#isk,
      this.#sid,
      encoder.encode(`covey/1 ${purpose}`),
      64,
    );
    return Uint8Array.from(
      createHmac("sha512", new Uint8Array(key)).update(content).digest(),
    );
  }

  /**
   * Check a tag in constant time.
   *
   * @param purpose What it should vouch for.
   * @param content What it should cover.
   * @param tag The tag that came.
   * @returns True when it is the right one.
   */
  verify(
    purpose: TagPurpose,
    content: Uint8Array,
    tag: Uint8Array,
  ): boolean {
    const expected = this.tag(purpose, content);
    return expected.length === tag.length && timingSafeEqual(expected, tag);
  }
}

/**
 * What a confirmation covers: both shares in the order of their roles.
 *
 * @param transcript Both shares.
 * @returns The bytes to tag.
 */
export function confirmedContent(
  transcript: CpaceTranscript,
): Uint8Array<ArrayBuffer> {
  return lvCat(transcript.initiatorShare, transcript.responderShare);
}
