/**
 * CPACE-RISTR255-SHA512 of draft-irtf-cfrg-cpace-21 in the initiator-responder
 * setting: one party multiplies a secret point, both learn the same key only
 * if they began from the same password, context and session id.
 *
 * @module
 */
import { createHash } from "node:crypto";

const encoder = new TextEncoder();
/** G_Ristretto255.DSI of the draft's section 8.3. */
const DSI = encoder.encode("CPaceRistretto255");
const DSI_ISK = encoder.encode("CPaceRistretto255_ISK");
/** Input block size of SHA-512. */
const HASH_BLOCK_BYTES = 128;
/** Length of a scalar and of an encoded point. */
export const POINT_BYTES = 32;

/** What both sides must bring alike. */
export interface CpaceInputs {
  /** The password-related string. */
  readonly prs: Uint8Array;
  /** Channel identifier: who talks to whom. */
  readonly ci: Uint8Array;
  /** Session identifier, unique to one run. */
  readonly sid: Uint8Array;
}

/** One party's share of a run: `scalar` never leaves the process. */
export interface CpaceShare {
  readonly scalar: Uint8Array;
  /** The encoded point Y that the other party is sent. */
  readonly share: Uint8Array<ArrayBuffer>;
}

/** The group ristretto255, once its library is loaded. */
export interface CpaceGroup {
  /**
   * G.calculate_generator.
   *
   * @returns The generator, encoded.
   */
  generator(inputs: CpaceInputs): Uint8Array<ArrayBuffer>;
  /**
   * G.scalar_mult.
   *
   * @param scalar 32 bytes, little-endian, neither zero nor above the order.
   * @param point An encoded point of this process's own making.
   * @returns The encoded product.
   */
  scalarMult(scalar: Uint8Array, point: Uint8Array): Uint8Array<ArrayBuffer>;
  /**
   * G.scalar_mult_vfy, for a point that came from outside.
   *
   * @returns The encoded product K, or undefined where the draft says to abort:
   *   bytes that are no canonical encoding, or the neutral element.
   */
  scalarMultVerify(
    scalar: Uint8Array,
    point: Uint8Array,
  ): Uint8Array<ArrayBuffer> | undefined;
}

/**
 * Load the group's library, which a node at rest does without.
 *
 * @returns The group.
 */
export async function loadCpaceGroup(): Promise<CpaceGroup> {
  const { ristretto255, ristretto255_hasher } = await import(
    "@noble/curves/ed25519.js"
  );
  const { Point } = ristretto255;
  const derive = ristretto255_hasher.deriveToCurve;
  if (derive === undefined) {
    throw new Error(
      "Failed to load CPace: the curve library derives no ristretto255 element",
    );
  }
  return {
    generator: (inputs) => derive(sha512(generatorString(inputs))).toBytes(),
    scalarMult: (scalar, point) =>
      Point.fromBytes(point).multiply(scalarNumber(scalar)).toBytes(),
    scalarMultVerify(scalar, point) {
      let decoded;
      try {
        decoded = Point.fromBytes(point);
      } catch {
        // Not the encoding of any element: the draft's first abort case.
        return undefined;
      }
      const product = decoded.multiply(scalarNumber(scalar));
      // The library decodes the neutral element: the draft's second abort case.
      return product.is0() ? undefined : product.toBytes();
    },
  };
}

/**
 * Begin one party's part.
 *
 * @param group The group.
 * @param inputs What both sides bring.
 * @param random 32 fresh random bytes: never twice the same.
 * @returns The secret scalar and the share to send.
 */
export function beginCpace(
  group: CpaceGroup,
  inputs: CpaceInputs,
  random: Uint8Array,
): CpaceShare {
  const scalar = sampleScalar(random);
  return {
    scalar,
    share: group.scalarMult(scalar, group.generator(inputs)),
  };
}

/** Both shares in the order of their roles. */
export interface CpaceTranscript {
  readonly initiatorShare: Uint8Array;
  readonly responderShare: Uint8Array;
}

/**
 * Derive the intermediate session key from the other party's share.
 *
 * @param group The group.
 * @param own This party's secret scalar.
 * @param peerShare The encoded point the other party sent.
 * @param sid The session identifier.
 * @param transcript Both shares; no associated data goes with them.
 * @returns ISK, 64 bytes, or undefined when the draft says to abort.
 */
export function finishCpace(
  group: CpaceGroup,
  own: Uint8Array,
  peerShare: Uint8Array,
  sid: Uint8Array,
  transcript: CpaceTranscript,
): Uint8Array<ArrayBuffer> | undefined {
  const k = group.scalarMultVerify(own, peerShare);
  if (k === undefined) return undefined;
  const none = new Uint8Array();
  return sessionKey(
    sid,
    k,
    lvCat(transcript.initiatorShare, none),
    lvCat(transcript.responderShare, none),
  );
}

/**
 * ISK = H(lv_cat(DSI ‖ "_ISK", sid, K) ‖ transcript_ir).
 *
 * @param sid The session identifier.
 * @param k The shared point.
 * @param initiatorMessage lv_cat(Ya, ADa).
 * @param responderMessage lv_cat(Yb, ADb).
 * @returns 64 bytes.
 */
export function sessionKey(
  sid: Uint8Array,
  k: Uint8Array,
  initiatorMessage: Uint8Array,
  responderMessage: Uint8Array,
): Uint8Array<ArrayBuffer> {
  return sha512(lvCat(DSI_ISK, sid, k), initiatorMessage, responderMessage);
}

/**
 * generator_string of the draft's section 8.1: the zeros fill the first hash
 * block, so that its time does not tell the password's length.
 *
 * @param inputs What both sides bring.
 * @returns The string that is hashed to the generator.
 */
export function generatorString(
  { prs, ci, sid }: CpaceInputs,
): Uint8Array<ArrayBuffer> {
  const padding = Math.max(
    0,
    HASH_BLOCK_BYTES - lvCat(prs).length - lvCat(DSI).length - 1,
  );
  return lvCat(DSI, prs, new Uint8Array(padding), ci, sid);
}

/**
 * lv_cat: each string with its length before it as LEB128, so that no two
 * lists of strings encode alike.
 *
 * @param parts The strings.
 * @returns Their encoding.
 */
export function lvCat(
  ...parts: readonly Uint8Array[]
): Uint8Array<ArrayBuffer> {
  const bytes: Uint8Array[] = [];
  for (const part of parts) {
    const length: number[] = [];
    let rest = part.length;
    do {
      length.push(rest > 127 ? (rest & 127) | 128 : rest);
      rest >>>= 7;
    } while (rest > 0);
    bytes.push(Uint8Array.from(length), part);
  }
  const joined = new Uint8Array(
    bytes.reduce((sum, part) => sum + part.length, 0),
  );
  let at = 0;
  for (const part of bytes) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** Random bytes with the bits above 2^252 cleared, as the draft's section 8.3 recommends. */
function sampleScalar(random: Uint8Array): Uint8Array {
  if (random.length !== POINT_BYTES) {
    throw new RangeError(
      `Failed to sample a scalar: ${POINT_BYTES} random bytes are needed, not ${random.length}`,
    );
  }
  const scalar = random.slice();
  scalar[POINT_BYTES - 1] = (scalar[POINT_BYTES - 1] ?? 0) & 0x0f;
  return scalar;
}

function scalarNumber(scalar: Uint8Array): bigint {
  return BigInt(`0x${scalar.slice().reverse().toHex()}`);
}

function sha512(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const hash = createHash("sha512");
  for (const part of parts) hash.update(part);
  return Uint8Array.from(hash.digest());
}
