import { join } from "node:path";
import { eventually } from "../../lab/eventually.ts";
import { membersSeen } from "../../lab/members.ts";
import { type NodeProcess, startNode } from "../../lab/node_process.ts";
import type { Way } from "./way.ts";

/**
 * Put Covey in front of the engine: a node alone, and a member whose peer has it.
 *
 * @param stack Ends the three nodes.
 * @param engineUrl The engine.
 * @param folder For their data.
 */
export async function coveyWays(
  stack: AsyncDisposableStack,
  engineUrl: string,
  folder: string,
): Promise<readonly [Way, Way]> {
  const upstream = { COVEY_UPSTREAMS: `fast=llama-server:${engineUrl}` };
  const cluster = {
    COVEY_CLUSTER_SECRET: crypto.getRandomValues(new Uint8Array(20)).toHex(),
    COVEY_LINK_HOST: "127.0.0.1",
    COVEY_LINK_PORT: "0",
    COVEY_MDNS_INTERFACES: "127.0.0.1",
  };
  const start = async (name: string, env: Record<string, string>) =>
    stack.use(
      await startNode({
        name,
        dataDir: join(folder, name),
        env: { COVEY_ENGINE: "off", COVEY_PORT: "0", ...env },
      }),
    );
  const alone = await start("alone", upstream);
  const member = await start("member", { ...cluster, ...upstream });
  const entry = await start("entry", cluster);
  await membersSeen([member.url, entry.url], 2, 20_000);
  for (const node of [alone, entry]) await untilServing(node);
  return [
    wayOf("Covey, one node", [alone]),
    wayOf("Covey, two members", [entry, member]),
  ];
}

function wayOf(
  name: string,
  nodes: readonly [NodeProcess, ...NodeProcess[]],
): Way {
  return {
    name,
    url: nodes[0].url,
    headers: {},
    pids: nodes.map(({ pid }) => pid),
    streams: true,
  };
}

async function untilServing({ url }: NodeProcess): Promise<void> {
  await eventually("the engine's model is listed", async () => {
    const { data } = await (await fetch(`${url}/v1/models`)).json();
    return data.length > 0 ? data : undefined;
  }, 20_000);
}
