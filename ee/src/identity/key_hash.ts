import { createHash, X509Certificate } from "node:crypto";

declare const brand: unique symbol;

/**
 * The pin of a member: SHA-256 of the public key (SPKI, DER) of its
 * certificate, as 64 lower-case hexadecimal digits. It is a public value.
 */
export type KeyHash = string & { readonly [brand]: "KeyHash" };

const FORM = /^[0-9a-f]{64}$/;

/**
 * Parse a key hash.
 *
 * @param text 64 hexadecimal digits in either letter case.
 * @returns The hash in lower case, or undefined when the text has another form.
 */
export function parseKeyHash(text: string): KeyHash | undefined {
  const lower = text.toLowerCase();
  return FORM.test(lower) ? lower as KeyHash : undefined;
}

/**
 * The 32 bytes that a key hash stands for.
 *
 * @param hash The hash.
 * @returns Its bytes.
 */
export function keyHashBytes(hash: KeyHash): Uint8Array<ArrayBuffer> {
  return Uint8Array.fromHex(hash);
}

/**
 * Hash a public key.
 *
 * @param spki The key as SubjectPublicKeyInfo, DER.
 * @returns Its key hash.
 */
export function keyHashOfSpki(spki: Uint8Array): KeyHash {
  return createHash("sha256").update(spki).digest("hex") as KeyHash;
}

/**
 * Hash the public key of a certificate that a peer presented. Nothing else of
 * the certificate counts: not its dates, names or signature.
 *
 * @param certificate The certificate as DER (`getPeerCertificate().raw`) or PEM.
 * @returns The key hash, or undefined when no key can be read from it.
 */
export function keyHashOfCertificate(
  certificate: Uint8Array | string,
): KeyHash | undefined {
  try {
    const key = new X509Certificate(certificate).publicKey;
    return keyHashOfSpki(key.export({ type: "spki", format: "der" }));
  } catch {
    // A stranger may present anything; what cannot be read has no key hash.
    return undefined;
  }
}
