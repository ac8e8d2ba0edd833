/** Whether this checkout has the cluster code; without it, what needs a cluster is skipped. */
export const HAS_CLUSTER: boolean = await Deno.stat(
  new URL("../../ee/main.ts", import.meta.url),
).then(() => true, () => false);
