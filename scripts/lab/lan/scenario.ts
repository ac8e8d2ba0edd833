import {
  areHealthy,
  isOffline,
  type LanNode,
  makeFolder,
  membersBecome,
  type SeenMember,
  startLanNode,
} from "./lan_node.ts";
import { issueForTest } from "../licensed.ts";
import { TestLan } from "./test_lan.ts";

/** How long each thing may take. */
export interface ScenarioBounds {
  readonly formedMs: number;
  readonly movedMs: number;
  readonly excludedMs: number;
  readonly backMs: number;
  readonly refusedMs: number;
}

/** What was promised for each. */
export const PROMISED: ScenarioBounds = {
  formedMs: 2000,
  movedMs: 5000,
  excludedMs: 6000,
  backMs: 3000,
  // At once: with the first poll that meets the refusal.
  refusedMs: 2000,
};

/**
 * Take a cluster through forming, a change of every address, a silent cut, the
 * link's return, and a member that is killed. The nodes are licensed for any
 * number of members.
 *
 * @param count How many hosts.
 * @param bounds When to give up waiting for each.
 * @returns How long each took.
 * @throws {Error} When a bound has passed.
 */
export async function runScenario(
  count: number,
  bounds: ScenarioBounds,
): Promise<ScenarioBounds> {
  await using stack = new AsyncDisposableStack();
  const lan = stack.use(await TestLan.open(count));
  const folder = await makeFolder(stack);
  const { command, env, licence } = await issueForTest(folder, "unlimited");
  const start = {
    folder,
    program: command,
    env: { ...env, COVEY_LICENCE: licence },
  };
  const nodes = await Promise.all(
    lan.hosts.map(async (host) => stack.use(await startLanNode(host, start))),
  );
  const whole = areHealthy(count);
  const formedMs = await membersBecome(
    "the cluster forms",
    nodes,
    whole,
    bounds.formedMs,
  );

  await Promise.all(lan.hosts.map((host) => host.readdress(78)));
  const movedMs = await membersBecome(
    "all are met at their new addresses",
    nodes,
    (members) => whole(members) && isMetIn(78, members),
    bounds.movedMs,
  );

  const last = lan.host(count);
  const others = nodes.filter(({ host }) => host !== last);
  const isGone = isOffline(`host-${count}`);
  await last.cut();
  const excludedMs = await membersBecome(
    "the one that was cut off is excluded",
    others,
    isGone,
    bounds.excludedMs,
  );
  await last.heal();
  const backMs = await membersBecome(
    "the one that was cut off is back",
    nodes,
    whole,
    bounds.backMs,
  );

  await processOn(nodes, count).end("SIGKILL");
  const refusedMs = await membersBecome(
    "the one that was killed is excluded",
    others,
    isGone,
    bounds.refusedMs,
  );
  return { formedMs, movedMs, excludedMs, backMs, refusedMs };
}

/** The address in use comes first. */
function isMetIn(network: number, members: readonly SeenMember[]): boolean {
  return members.filter(({ self }) => !self).every(({ addresses }) =>
    addresses[0]?.startsWith(`10.${network}.`) ||
    addresses[0]?.startsWith(`[fd${network}:`)
  );
}

function processOn(nodes: readonly LanNode[], number: number) {
  const node = nodes.find(({ host }) => host.number === number);
  if (node === undefined) throw new RangeError(`No node on host ${number}`);
  return node.process;
}
