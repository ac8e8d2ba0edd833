import { join } from "node:path";
import { FROM_SOURCE, type NodeProcess, startNode } from "../node_process.ts";
import { isUsed } from "../members.ts";
import type { LanHost } from "./lan_host.ts";

/** The secret of a test's cluster. */
export const SECRET = "a secret for the test LAN alone 8264";
/** Port of every node's link. */
export const LINK_PORT = 11412;

/** A member as `/cluster/members` shows it. */
export interface SeenMember {
  readonly id: string;
  readonly name: string;
  readonly self: boolean;
  readonly health: string;
  readonly addresses: readonly string[];
}

/** A node that runs on a host of the test LAN. */
export interface LanNode extends AsyncDisposable {
  readonly host: LanHost;
  readonly process: NodeProcess;
  /** Folder of its data. */
  readonly dataDir: string;
  /** What it lists as members; empty when it does not answer. */
  members(): Promise<readonly SeenMember[]>;
}

/** How to start one. */
export interface LanNodeOptions {
  /** Folder under which its data lies; the same one again for a restart. */
  readonly folder: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly config?: unknown;
  /** Command line before `serve`; the checkout's own main module by default. */
  readonly program?: readonly string[];
}

/**
 * Start a node on a host, as a user would: `covey serve` with a secret.
 *
 * @param host Where.
 * @param options Its folder and what differs from the defaults. A variable set to "" is left out.
 * @returns The node, ready.
 */
export async function startLanNode(
  host: LanHost,
  options: LanNodeOptions,
): Promise<LanNode> {
  const name = `host-${host.number}`;
  const dataDir = join(options.folder, name);
  const env = { COVEY_CLUSTER_SECRET: SECRET, ...options.env };
  const process = await startNode({
    name,
    dataDir,
    config: options.config ?? {},
    env: Object.fromEntries(
      Object.entries(env).filter(([, value]) => value !== ""),
    ),
    command: host.command(...options.program ?? FROM_SOURCE),
  });
  return {
    host,
    process,
    dataDir,
    async members() {
      const text = await host.fetch(`${process.url}/cluster/members`);
      return text === undefined ? [] : JSON.parse(text).members;
    },
    [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
  };
}

/**
 * Wait until nodes list what they should.
 *
 * @param what What is waited for, for the error.
 * @param nodes The nodes.
 * @param isSo Tells of one node's members whether it is so.
 * @param boundMs When to give up.
 * @returns Milliseconds it took.
 * @throws {Error} When the bound has passed; what was listed last is in the message.
 */
export async function membersBecome(
  what: string,
  nodes: readonly LanNode[],
  isSo: (members: readonly SeenMember[], node: LanNode) => boolean,
  boundMs: number,
): Promise<number> {
  const startMs = performance.now();
  for (;;) {
    const seen = await Promise.all(nodes.map((node) => node.members()));
    const elapsedMs = performance.now() - startMs;
    const all = nodes.every((node, index) => isSo(seen[index] ?? [], node));
    if (all) return elapsedMs;
    if (elapsedMs > boundMs) {
      const logs = nodes.map(({ process }) =>
        process.log().split("\n").slice(-25).join("\n")
      );
      throw new Error(
        `Waited ${boundMs} ms in vain: ${what}; listed: ${
          JSON.stringify(seen)
        }\n${logs.join("\n--\n")}`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Tell whether so many members are given work, and no more are listed. */
export function areHealthy(count: number) {
  return (members: readonly SeenMember[]): boolean =>
    members.length === count &&
    members.every(isUsed);
}

/** Tell whether a member of a name is listed off line. */
export function isOffline(name: string) {
  return (members: readonly SeenMember[]): boolean =>
    members.some((member) =>
      member.name === name && member.health === "OFFLINE"
    );
}

/** A folder for a test's data, removed with the stack. */
export async function makeFolder(
  stack: AsyncDisposableStack,
): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "covey-lan-" });
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  return folder;
}
