import { join } from "node:path";
import { eventually } from "../../lab/eventually.ts";
import { membersSeen } from "../../lab/members.ts";
import { type NodeProcess, startNode } from "../../lab/node_process.ts";
import type { Way } from "./way.ts";

type Start = (
  name: string,
  env: Readonly<Record<string, string>>,
) => Promise<NodeProcess>;

/**
 * Put a node of Covey's in front of the engine.
 *
 * @param stack Ends it.
 * @param engineUrl The engine.
 * @param folder For its data.
 */
export async function coveyAlone(
  stack: AsyncDisposableStack,
  engineUrl: string,
  folder: string,
): Promise<Way> {
  const node = await startIn(stack, folder)("alone", upstreamAt(engineUrl));
  await untilServing(node);
  return wayOf("Covey, one node", [node]);
}

/**
 * Put two members in front of the engine: one is asked, the other has it.
 *
 * @param stack Ends them.
 * @param engineUrl The engine.
 * @param folder For their data.
 */
export async function coveyMembers(
  stack: AsyncDisposableStack,
  engineUrl: string,
  folder: string,
): Promise<Way> {
  const cluster = {
    COVEY_CLUSTER_SECRET: crypto.getRandomValues(new Uint8Array(20)).toHex(),
    COVEY_LINK_HOST: "127.0.0.1",
    COVEY_LINK_PORT: "0",
    COVEY_MDNS_INTERFACES: "127.0.0.1",
  };
  const start = startIn(stack, folder);
  const member = await start("member", {
    ...cluster,
    ...upstreamAt(engineUrl),
  });
  const entry = await start("entry", cluster);
  await membersSeen([member.url, entry.url], 2, 20_000);
  await untilServing(entry);
  return wayOf("Covey, two members", [entry, member]);
}

function startIn(stack: AsyncDisposableStack, folder: string): Start {
  return async (name, env) =>
    stack.use(
      await startNode({
        name,
        dataDir: join(folder, name),
        env: { COVEY_ENGINE: "off", COVEY_PORT: "0", ...env },
      }),
    );
}

function upstreamAt(engineUrl: string): Record<string, string> {
  return { COVEY_UPSTREAMS: `fast=llama-server:${engineUrl}` };
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
