/**
 * The program of tests that need a licence: the full build with the test's own
 * issuer in the place of the compiled-in keys. No build contains it, and no
 * variable or file of a build leads to what it does. A test starts it as
 *
 *     command: [Deno.execPath(), "run", "--no-prompt", "-A", LICENSED_MAIN]
 *
 * with the issuer's public key in `TEST_LICENCE_KEY`.
 *
 * @module
 */
import { runCovey } from "@covey/core/main";
import { actAlone } from "../../mod.ts";
import { CLUSTER_COMMANDS } from "../../src/cli/mod.ts";
import { createClusterWithSeams } from "../../src/cluster.ts";
import { settleIdentity } from "../../src/identity/set_aside.ts";
import { resumesCluster } from "../../src/resumes.ts";

if (import.meta.main) {
  const key = Deno.env.get("TEST_LICENCE_KEY");
  await runCovey(import.meta.url, {
    clusterCode: {
      createCluster: (host, platform) =>
        createClusterWithSeams(host, platform, {
          licenceKeys: key === undefined ? [] : [key],
        }),
      resumesCluster,
      settleIdentity: (files, dataDir, log) =>
        settleIdentity({ files, dataDir, log }),
      actAlone,
    },
    commands: CLUSTER_COMMANDS,
  });
}
