/**
 * The full build for tests that need more than two nodes: it takes the key of
 * a licence issuer from `COVEY_TEST_LICENCE_KEY`, which no real build does.
 *
 * @module
 */
import { runCovey } from "@covey/core/main";
import { resumesCluster } from "../src/resumes.ts";

if (import.meta.main) {
  const key = Deno.env.get("COVEY_TEST_LICENCE_KEY") ?? "";
  await runCovey(import.meta.url, {
    clusterCode: {
      createCluster: async (host, platform) => {
        const { createClusterWithSeams } = await import("../src/cluster.ts");
        return await createClusterWithSeams(host, platform, {
          licenceKeys: [key],
        });
      },
      resumesCluster,
      settleIdentity: async (files, dataDir, log) => {
        const { settleIdentity } = await import(
          "../src/identity/set_aside.ts"
        );
        await settleIdentity({ files, dataDir, log });
      },
      actAlone: async (...asked) => {
        const { actAlone } = await import("../mod.ts");
        return await actAlone(...asked);
      },
    },
    loadCommands: async () => {
      const { CLUSTER_COMMANDS } = await import("../src/cli/mod.ts");
      return CLUSTER_COMMANDS;
    },
  });
}
