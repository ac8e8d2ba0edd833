/**
 * The full build: the open node with the cluster code added.
 *
 * @module
 */
import { runCovey } from "@covey/core/main";

if (import.meta.main) {
  await runCovey(import.meta.url, {
    // Loaded only when a secret is set: a node alone pays nothing for it.
    createCluster: async (host, platform) => {
      const { createCluster } = await import("./mod.ts");
      return await createCluster(host, platform);
    },
  });
}
