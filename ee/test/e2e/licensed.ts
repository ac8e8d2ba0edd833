import { issueLicence } from "../../../scripts/licence/issue.ts";
import { makeIssuerKey } from "../../../scripts/licence/make_key.ts";

/** What a node of a test needs to run under a licence that the test issued. */
export interface Licensed {
  /** Command line before `serve`. */
  readonly command: readonly string[];
  /** The issuer's key, for each node. */
  readonly env: Readonly<Record<string, string>>;
  /** The licence, as COVEY_LICENCE of one node or more. */
  readonly licence: string;
}

/**
 * Make an issuer and have it issue a licence.
 *
 * @param maxClusterNodes How many nodes it allows; null for any number.
 */
export async function issueForTest(
  maxClusterNodes: number | null,
): Promise<Licensed> {
  const issuer = await makeIssuerKey();
  const terms = {
    id: "L-test",
    holder: "Tests",
    maxClusterNodes,
    notAfter: null,
  };
  return {
    command: [
      Deno.execPath(),
      "run",
      "--no-prompt",
      "--allow-all",
      new URL("licensed_main.ts", import.meta.url).pathname,
    ],
    env: { TEST_LICENCE_KEY: issuer.publicKey },
    licence: await issueLicence(terms, issuer.privateKeyPem),
  };
}
