import { type LicenceTerms, signLicence } from "../../src/licence/licence.ts";

/** An issuer of a test. */
export interface Issuer {
  /** As `licence_keys.ts` lists them. */
  readonly publicKey: string;
  issue(terms: LicenceTerms): Promise<string>;
}

/** Make an issuer whose private key nobody keeps. */
export async function makeIssuer(): Promise<Issuer> {
  const { privateKey, publicKey } = await crypto.subtle.generateKey(
    "Ed25519",
    true,
    ["sign", "verify"],
  ) as CryptoKeyPair;
  const raw = new Uint8Array(await crypto.subtle.exportKey("raw", publicKey));
  return {
    publicKey: raw.toBase64({ alphabet: "base64url", omitPadding: true }),
    issue: (terms) => signLicence(terms, privateKey),
  };
}

/** Settings of nodes that share the licence "L-<seats>" for so many seats. */
export async function licensedFor(seats: number) {
  const issuer = await makeIssuer();
  const licence = await issuer.issue({
    id: `L-${seats}`,
    holder: "Lab",
    maxClusterNodes: seats,
    notAfter: null,
  });
  return { licence, licenceKeys: [issuer.publicKey] };
}
