import { bad, type BadConfig } from "./given.ts";
import { resolvePath } from "./folder_path.ts";
import type { TlsConfig } from "./node_config.ts";

/** The word for the node's own certificate. */
const OWN = /^self$/i;

/** What was said of the certificate of the API, or what is wrong with it. */
export type TlsReading =
  | { readonly kind: "read"; readonly tls: TlsConfig | null }
  | BadConfig;

/**
 * Settle what the API proves itself by beyond loopback.
 *
 * @param said Both settings, null where nothing was said.
 * @param cwd What relative paths count from.
 * @param home What `~` stands for.
 */
export function tlsConfig(
  said: { readonly tlsCert: string | null; readonly tlsKey: string | null },
  cwd: string,
  home: string | undefined,
): TlsReading {
  const { tlsCert, tlsKey } = said;
  if (tlsCert === null) {
    return tlsKey === null ? { kind: "read", tls: null } : bad(
      "COVEY_TLS_KEY",
      "COVEY_TLS_KEY: it means nothing without COVEY_TLS_CERT; set both, or neither",
    );
  }
  if (OWN.test(tlsCert)) {
    return tlsKey === null ? { kind: "read", tls: { kind: "self" } } : bad(
      "COVEY_TLS_KEY",
      "COVEY_TLS_KEY: it does not go with COVEY_TLS_CERT=self, which brings its own key; unset one of them",
    );
  }
  if (tlsKey === null) {
    return bad(
      "COVEY_TLS_CERT",
      "COVEY_TLS_CERT: a certificate needs its key; set COVEY_TLS_KEY to the file that holds it",
    );
  }
  return {
    kind: "read",
    tls: {
      kind: "files",
      certificateFile: resolvePath(tlsCert, cwd, home),
      keyFile: resolvePath(tlsKey, cwd, home),
    },
  };
}

/**
 * Make the path of a certificate absolute, where it is one.
 *
 * @param text What was said.
 * @param resolve Makes a path absolute.
 */
export function certificatePath(
  text: string,
  resolve: (path: string) => string,
): string {
  return OWN.test(text) ? text : resolve(text);
}
