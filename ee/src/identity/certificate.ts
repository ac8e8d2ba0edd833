import type { NodeId } from "@covey/core/domain";
import type { Entropy } from "@covey/core/platform";
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
} from "node:crypto";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256" } as const;
const SERIAL_BYTES = 16;
const NOT_BEFORE = new Date("1970-01-01T00:00:00Z");
/** RFC 5280, 4.1.2.5: a certificate that has no well-defined end. */
const NOT_AFTER = new Date("9999-12-31T23:59:59Z");

/** What a certificate says that its holder is called. */
export interface CertificateNames {
  /** Host names. */
  readonly hosts: readonly string[];
  /** IP addresses, without brackets. */
  readonly addresses: readonly string[];
}

/**
 * Make a P-256 key pair. It comes from the platform's own generator and not
 * from the injected source, so that no seeded test source can ever make one.
 *
 * @returns The private key as PKCS #8, PEM.
 */
export function makePrivateKey(): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

/**
 * The public half of a private key.
 *
 * @param privateKeyPem PKCS #8, PEM.
 * @returns The public key as SubjectPublicKeyInfo, DER, or undefined when the
 *   text is no P-256 key.
 */
export function publicKeyOf(
  privateKeyPem: string,
): Uint8Array<ArrayBuffer> | undefined {
  try {
    const key = createPrivateKey(privateKeyPem);
    const curve = key.asymmetricKeyDetails?.namedCurve;
    if (key.asymmetricKeyType !== "ec" || curve !== "prime256v1") {
      return undefined;
    }
    const spki = createPublicKey(privateKeyPem).export({
      type: "spki",
      format: "der",
    });
    return Uint8Array.from(spki);
  } catch {
    // Whatever cannot be read is no key.
    return undefined;
  }
}

/**
 * Make the self-signed certificate of a key. It is never renewed: only its
 * public key counts, and its dates span all clocks. The serial number is our
 * own, since the library's automatic ones are not always valid DER.
 *
 * @param nodeId Goes into the subject's alternative name as `urn:uuid:…`.
 * @param privateKeyPem PKCS #8, PEM, of a P-256 key.
 * @param entropy Where the serial number is drawn from.
 * @param names What clients call the node by; members pin the key and need none.
 * @returns The certificate, PEM.
 */
export async function makeCertificate(
  nodeId: NodeId,
  privateKeyPem: string,
  entropy: Entropy,
  names: CertificateNames = { hosts: [], addresses: [] },
): Promise<string> {
  // The library needs the metadata shim in place before its first line runs.
  await import("reflect-metadata");
  const x509 = await import("@peculiar/x509");
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(entropy),
    name: "CN=Covey node",
    notBefore: NOT_BEFORE,
    notAfter: NOT_AFTER,
    keys: await keyPairOf(privateKeyPem),
    signingAlgorithm: { name: "ECDSA", hash: "SHA-256" },
    extensions: [
      new x509.SubjectAlternativeNameExtension([
        { type: "url", value: `urn:uuid:${nodeId}` },
        ...names.hosts.map((value) => ({ type: "dns" as const, value })),
        ...names.addresses.map((value) => ({ type: "ip" as const, value })),
      ]),
    ],
  }, crypto);
  return `${certificate.toString("pem")}\n`;
}

async function keyPairOf(privateKeyPem: string): Promise<CryptoKeyPair> {
  const pkcs8 = createPrivateKey(privateKeyPem).export({
    type: "pkcs8",
    format: "der",
  });
  const spki = createPublicKey(privateKeyPem).export({
    type: "spki",
    format: "der",
  });
  return {
    privateKey: await crypto.subtle.importKey(
      "pkcs8",
      Uint8Array.from(pkcs8),
      ALGORITHM,
      false,
      ["sign"],
    ),
    publicKey: await crypto.subtle.importKey(
      "spki",
      Uint8Array.from(spki),
      ALGORITHM,
      true,
      ["verify"],
    ),
  };
}

/** Positive and of fixed length: the first bit is clear, the second set. */
function serialNumber(entropy: Entropy): string {
  const bytes = entropy.bytes(SERIAL_BYTES);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toHex();
}
