import { join } from "node:path";

/** How a node is started that knows a test's licence issuer. */
export interface LicensedStart {
  /** Command line before `serve`. */
  readonly program: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Issue a licence for any number of nodes.
 *
 * @returns How its nodes are started.
 */
export async function issueForTest(): Promise<LicensedStart> {
  // Not loaded with this module: the core's tests run without ee/, too.
  const { makeIssuer } = await import("../../../ee/test/licence/issuer.ts");
  const issuer = await makeIssuer();
  const licence = await issuer.issue({
    id: "lan-test",
    holder: "The tests",
    maxClusterNodes: null,
    notAfter: null,
  });
  return {
    program: [
      ...[Deno.execPath(), "run", "--no-prompt", "--allow-all"],
      join(import.meta.dirname ?? ".", "../../../ee/test/licensed_main.ts"),
    ],
    env: {
      COVEY_LICENCE: licence,
      COVEY_TEST_LICENCE_KEY: issuer.publicKey,
    },
  };
}
