import { isLoopback, StartError, type TlsIdentity } from "./api/mod.ts";
import type { NodeId } from "./domain/mod.ts";
import type { NodeOptions } from "./node_options.ts";
import { FileError } from "./platform/mod.ts";
import {
  CertificateError,
  namesOf,
  readCertificate,
} from "./store/api_certificate.ts";

/**
 * What the API proves itself by beyond loopback; null where it need not.
 *
 * @throws {StartError} When the certificate can not be read or made.
 */
export async function openApiIdentity(
  { clusterCode, config, platform }: NodeOptions,
  nodeId: NodeId,
): Promise<TlsIdentity | null> {
  const { tls, dataDir } = config;
  const hosts = config.listen.map(({ host }) => host);
  if (tls === null || hosts.every(isLoopback)) return null;
  const { entropy, files } = platform;
  const own = { files, entropy, dataDir, nodeId };
  try {
    if (tls.kind === "self") {
      const names = namesOf({ ...config, hosts });
      const made = await clusterCode?.ensureApiCertificate?.({ ...own, names });
      if (made !== undefined) return await readCertificate(files, made);
      throw new StartError(
        "COVEY_TLS_CERT=self needs the full build, which can make a certificate; give COVEY_TLS_CERT and COVEY_TLS_KEY the paths of your own",
      );
    }
    return await readCertificate(files, tls);
  } catch (error) {
    if (error instanceof CertificateError || error instanceof FileError) {
      throw new StartError(error.message, { cause: error });
    }
    throw error;
  }
}
