import { API_CERTIFICATE_FILE, type NodeId } from "@covey/core/domain";
import { type Entropy, type Files, ifThere } from "@covey/core/platform";
import {
  type CertificateNames,
  makeCertificate,
  makePrivateKey,
} from "./certificate.ts";

/** What a node's own certificate for its API is made from. */
export interface ApiCertificateOptions {
  readonly files: Files;
  readonly entropy: Entropy;
  /** The node's data folder, which must exist. */
  readonly dataDir: string;
  readonly nodeId: NodeId;
  /** What clients may call it by. */
  readonly names: CertificateNames;
}

/** Where the node's own certificate for its API lies. */
export interface ApiCertificateFiles {
  /** What clients are given to trust. */
  readonly certificateFile: string;
  readonly keyFile: string;
}

/**
 * Make the certificate that COVEY_TLS_CERT=self stands for, once: clients that
 * were told to trust it find it again after every start. Its key is not the
 * key of the member link, so that neither can be used for the other.
 *
 * @param options What it is made from; names count when it is made.
 * @returns Where it lies. What stands there already is left as it is.
 * @throws {FileError} When it can be neither read nor written.
 */
export async function ensureApiCertificate(
  options: ApiCertificateOptions,
): Promise<ApiCertificateFiles> {
  const { dataDir, entropy, files, names, nodeId } = options;
  const certificateFile = `${dataDir}/${API_CERTIFICATE_FILE}`;
  const keyFile = `${dataDir}/api_key.pem`;
  let key = await ifThere(files.readText(keyFile));
  if (key === null) {
    key = makePrivateKey();
    await files.writeAtomic(keyFile, key, 0o600);
    // One that was left over belongs to a key that is gone.
    await files.remove(certificateFile);
  }
  if (await ifThere(files.readText(certificateFile)) === null) {
    await files.writeAtomic(
      certificateFile,
      await makeCertificate(nodeId, key, entropy, names),
      0o644,
    );
  }
  return { certificateFile, keyFile };
}
