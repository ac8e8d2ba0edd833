import { isLoopback } from "./address.ts";
import { bad, type BadConfig, quote } from "./given.ts";
import type { ListenAddress } from "./node_config.ts";

/** What decides whether an API may be reachable from elsewhere. */
export interface Exposure {
  readonly listen: readonly ListenAddress[];
  readonly hasApiKeys: boolean;
  readonly allowAnonymous: boolean;
  readonly hasTls: boolean;
  readonly allowPlaintext: boolean;
}

/**
 * Refuse an API beyond loopback that strangers could use or read without the
 * operator having said so.
 *
 * @param exposure What was configured.
 * @param place How the error names where the addresses were given.
 * @returns The refusal, a notice of what is readable, or null on loopback and with TLS.
 */
export function checkExposure(
  exposure: Exposure,
  place: string,
): BadConfig | string | null {
  const open = exposure.listen.find(({ host }) => !isLoopback(host));
  if (open === undefined) return null;
  const address = quote(open.host);
  if (!exposure.hasApiKeys && !exposure.allowAnonymous) {
    return bad(
      "COVEY_HOST",
      `${place}: ${address} is reachable by others and needs client keys; make one with "covey key add NAME", set COVEY_API_KEYS, or COVEY_ALLOW_ANONYMOUS=1 to serve anybody`,
    );
  }
  if (exposure.hasTls) return null;
  if (!exposure.allowPlaintext) {
    return bad(
      "COVEY_HOST",
      `${place}: ${address} would carry keys and prompts readable on the network; set COVEY_TLS_CERT=self or to a certificate, or COVEY_ALLOW_PLAINTEXT=1 to accept that`,
    );
  }
  return `The API on ${address} has no TLS: keys and prompts are readable on the network`;
}
