/**
 * The full build: the open node with the cluster code added.
 *
 * @module
 */
import { runCovey } from "@covey/core/main";
import { resumesCluster } from "./src/resumes.ts";

if (import.meta.main) {
  await runCovey(import.meta.url, {
    // Loaded only when there is to be a cluster: a node alone pays nothing for it.
    clusterCode: {
      createCluster: async (host, platform) => {
        const { createCluster } = await import("./mod.ts");
        return await createCluster(host, platform);
      },
      resumesCluster,
      settleIdentity: async (files, dataDir, log) => {
        const { settleIdentity } = await import("./src/identity/set_aside.ts");
        await settleIdentity({ files, dataDir, log });
      },
      ensureApiCertificate: async (options) => {
        const { ensureApiCertificate } = await import(
          "./src/identity/api_certificate.ts"
        );
        return await ensureApiCertificate(options);
      },
      describeActions: async () => {
        const { describeActions } = await import(
          "./src/actions/describe_actions.ts"
        );
        return describeActions();
      },
      actAlone: async (...asked) => {
        const { actAlone } = await import("./mod.ts");
        return await actAlone(...asked);
      },
    },
    loadCommands: async () => {
      const { CLUSTER_COMMANDS } = await import("./src/cli/mod.ts");
      return CLUSTER_COMMANDS;
    },
  });
}
