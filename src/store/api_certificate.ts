import type { X509Certificate } from "node:crypto";
import { parseNetwork } from "../domain/mod.ts";
import { FileError, type Files } from "../platform/mod.ts";

/** A certificate and its key, as files hold them. */
export interface CertificateText {
  /** The certificate, with those that vouch for it, PEM. */
  readonly certificatePem: string;
  /** The private key that belongs to it, PEM. */
  readonly privateKeyPem: string;
}

/** Where a certificate and its key lie. */
export interface CertificateFiles {
  readonly certificateFile: string;
  readonly keyFile: string;
}

/** A certificate that can not be used. */
export class CertificateError extends Error {
  override readonly name = "CertificateError";
}

/**
 * Read the certificate of the API and see that the key is its own: the
 * listener would take any text and fail every client.
 *
 * @param files Where they lie.
 * @param paths Where it and its key lie.
 * @returns Both.
 * @throws {CertificateError} Naming the file that is wrong, and never what it holds.
 */
export async function readCertificate(
  files: Files,
  { certificateFile, keyFile }: CertificateFiles,
): Promise<CertificateText> {
  const certificatePem = await read(files, certificateFile, "COVEY_TLS_CERT");
  const privateKeyPem = await read(files, keyFile, "COVEY_TLS_KEY");
  await checkPair({ certificatePem, privateKeyPem }, certificateFile, keyFile);
  return { certificatePem, privateKeyPem };
}

async function read(
  files: Files,
  path: string,
  variable: string,
): Promise<string> {
  try {
    return await files.readText(path);
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    throw new CertificateError(
      `${error.message}; set ${variable} to a file that this user can read`,
      { cause: error },
    );
  }
}

async function checkPair(
  { certificatePem, privateKeyPem }: CertificateText,
  certificateFile: string,
  keyFile: string,
): Promise<void> {
  // Only who has a certificate pays for the memory.
  const crypto = await import("node:crypto");
  let certificate: X509Certificate;
  try {
    certificate = new crypto.X509Certificate(certificatePem);
  } catch (error) {
    throw new CertificateError(
      `"${certificateFile}" holds no certificate in PEM form; set COVEY_TLS_CERT to one that does`,
      { cause: error },
    );
  }
  let own: boolean;
  try {
    own = certificate.checkPrivateKey(crypto.createPrivateKey(privateKeyPem));
  } catch (error) {
    throw new CertificateError(
      `"${keyFile}" holds no private key in PEM form without a password; set COVEY_TLS_KEY to one that does`,
      { cause: error },
    );
  }
  if (own) return;
  throw new CertificateError(
    `The key in "${keyFile}" does not belong to the certificate in "${certificateFile}"; set COVEY_TLS_KEY and COVEY_TLS_CERT to a pair`,
  );
}

/**
 * What clients may call a node by, for the certificate that it makes itself.
 *
 * @param node Its name, the addresses it listens on, and the further names that it answers to.
 */
export function namesOf(
  { allowedHosts, hosts, name }: {
    readonly name: string;
    readonly hosts: readonly string[];
    readonly allowedHosts: readonly string[];
  },
): {
  readonly hosts: readonly string[];
  readonly addresses: readonly string[];
} {
  const label = name.toLowerCase().replace(/[^a-z0-9-]+/g, "-");
  const called = ["127.0.0.1", "::1", ...hosts, ...allowedHosts].filter(
    (host) => host !== "0.0.0.0" && host !== "::",
  );
  const isAddress = (host: string) => parseNetwork(host) !== undefined;
  return {
    hosts: [
      ...new Set([
        "localhost",
        label,
        `${label}.local`,
        ...called.filter((host) => !isAddress(host)),
      ]),
    ],
    addresses: [...new Set(called.filter(isAddress))],
  };
}
