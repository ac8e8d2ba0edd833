/**
 * The program of tests that need a licence: the full build with the test's own
 * issuer in the place of the compiled-in keys. No build contains it, and no
 * variable or file of a build leads to what it does. A test starts it like the
 * program itself, with the issuer's public key in `TEST_LICENCE_KEY`.
 *
 * @module
 */
import { actAlone } from "../../ee/mod.ts";
import { describeActions } from "../../ee/src/actions/describe_actions.ts";
import { createClusterWithSeams } from "../../ee/src/cluster.ts";
import { settleIdentity } from "../../ee/src/identity/set_aside.ts";
import { resumesCluster } from "../../ee/src/resumes.ts";
import { runCovey } from "../../src/main.ts";

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
      describeActions: () => Promise.resolve(describeActions()),
      actAlone,
    },
    loadCommands: async () => {
      const { CLUSTER_COMMANDS } = await import("../../ee/src/cli/mod.ts");
      return CLUSTER_COMMANDS;
    },
  });
}
