import { createServer } from "node:net";
import type { ClusterConfig } from "@covey/core/domain";
import { type Files, readDescriptorLimit } from "@covey/core/platform";
import {
  explainChoice,
  type InterfaceUse,
  type NetworkInterface,
} from "../discovery/mod.ts";
import { isWildcard } from "../whereabouts.ts";
import { type Finding, info, problem } from "./finding.ts";
import { judgeUse } from "./judge_interfaces.ts";
import {
  judgeDescriptors,
  judgeExposure,
  judgePort,
  type PortFacts,
} from "./judge_node.ts";

/** What of the configuration the doctor looks at. */
export interface LocalConfig {
  readonly listen: readonly { readonly host: string; readonly port: number }[];
  readonly allowAnonymous: readonly { readonly text: string }[];
  /** What the API proves itself by beyond loopback, or null. */
  readonly tls: unknown;
  readonly cluster: Pick<
    ClusterConfig,
    "linkHost" | "linkPort" | "mdnsInterfaces" | "secret"
  >;
}

/** What a look at this machine may touch. */
export interface LocalMeans {
  readonly files: Files;
  listInterfaces():
    | readonly NetworkInterface[]
    | Promise<readonly NetworkInterface[]>;
  /** Try to listen; the system's word for why it can not be, or null. */
  tryPort(host: string, port: number): Promise<string | null>;
}

/**
 * Look at what can be looked at while no node runs: descriptors, ports and
 * interfaces.
 *
 * @param config What the operator configured.
 * @param means What it may touch.
 */
export async function examineLocally(
  config: LocalConfig,
  means: LocalMeans,
): Promise<readonly Finding[]> {
  const { allowAnonymous, cluster, listen, tls } = config;
  const ports: Omit<PortFacts, "code">[] = [
    ...listen.map((one) => ({
      ...one,
      use: "API" as const,
      variable: "COVEY_PORT" as const,
    })),
    {
      host: cluster.linkHost,
      port: cluster.linkPort,
      use: "member link",
      variable: "COVEY_LINK_PORT",
    },
  ];
  const tried = await Promise.all(
    ports.filter(({ port }) => port !== 0).map(async (one) => ({
      ...one,
      code: await means.tryPort(one.host, one.port),
    })),
  );
  return [
    judgeDescriptors(await readDescriptorLimit(means.files)),
    ...judgeExposure({
      hosts: listen.map(({ host }) => host),
      openTo: allowAnonymous.map(({ text }) => text),
      hasTls: tls !== null,
    }),
    ...tried.map(judgePort),
    ...(cluster.secret === null
      ? [
        info(
          "node",
          "cluster",
          "COVEY_CLUSTER_SECRET is not set: it is in a cluster by invitation, or in none",
        ),
      ]
      : []),
    ...await judgeMachine(config, means),
  ];
}

async function judgeMachine(
  { cluster: { linkHost, mdnsInterfaces } }: LocalConfig,
  { listInterfaces }: LocalMeans,
): Promise<readonly Finding[]> {
  const named = mdnsInterfaces ?? (isWildcard(linkHost) ? null : [linkHost]);
  const uses: readonly InterfaceUse[] = explainChoice(
    await listInterfaces(),
    named,
  );
  const used = uses.some(({ use }) => use === "used");
  return [
    ...uses.flatMap((one) => judgeUse(one)),
    ...(used ? [] : [
      problem(
        "multicast",
        "interfaces",
        "no interface can be used to look for members",
        "connect this machine to a network, or list members in COVEY_PEERS",
      ),
    ]),
  ];
}

/** Try to listen on a port for a moment, for `LocalMeans.tryPort`. */
export function tryPort(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error) => {
      resolve(
        "code" in error && typeof error.code === "string"
          ? error.code
          : error.message,
      );
    });
    server.listen(port, host, () => server.close(() => resolve(null)));
  });
}
