import { CHUNK_BYTES, type PullView } from "@covey/core/domain";
import { createSeededEntropy, MemoryFiles } from "@covey/core/platform";
import { buildModel } from "../../../test/fakes/gguf_builder.ts";
import type { HubServer } from "../../../test/fakes/hub_server.ts";
import { createPullingNode } from "../../../test/fakes/pulling_node.ts";
import { type FakeLan, TestNode } from "../cluster_fixture.ts";

/** What the hub's repository is pulled as. */
export const SOURCE = "org/repo";
const FOREVER = new AbortController().signal;

/** A model of twenty pieces of a thousand bytes. */
export function weights(): Uint8Array<ArrayBuffer> {
  const model = buildModel();
  const bytes = new Uint8Array(20_000);
  bytes.set(createSeededEntropy(5).bytes(bytes.length));
  bytes.set(model);
  return bytes;
}

/**
 * A model of that many chunks, no two of which are alike.
 *
 * @param chunks How many.
 * @param mark Tells it from others.
 */
export function chunkyWeights(
  chunks: number,
  mark = 0,
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(chunks * CHUNK_BYTES - 1000);
  bytes.set(weights());
  for (let at = 1; at < chunks; at++) bytes.fill(mark + at, at * CHUNK_BYTES);
  return bytes;
}

/** A member that pulls. */
export type PullingMember = Awaited<ReturnType<typeof startPulling>>;

/**
 * Start a member that pulls from a hub, over files in memory and the real link.
 *
 * @param n Which one.
 * @param lan Where it meets the others.
 * @param hub Where it pulls from.
 * @param settings What is not as usual.
 */
export async function startPulling(
  n: number,
  lan: FakeLan,
  hub: Pick<HubServer, "origin">,
  settings: {
    readonly role?: "node" | "controller";
    readonly files?: MemoryFiles;
    readonly pieceBytes?: number;
    /** Null for a member that comes by invitation. */
    readonly secret?: string | null;
  } = {},
) {
  const files = settings.files ??
    new MemoryFiles({ "/models/.keep": "", "/data/.keep": "" });
  const { pieceBytes, role = "node", secret } = settings;
  const here = createPullingNode({
    files,
    hub: hub.origin,
    allies: () => cluster.pullAllies?.() ?? null,
    ...pieceBytes === undefined ? {} : { pieceBytes },
  });
  let movedOnMs = 0;
  const node = new TestNode(n, lan, {
    files,
    models: here.shelf,
    role,
    ...secret === undefined ? {} : { secret },
    movedOnMs: () => movedOnMs,
  });
  const cluster = await node.cluster;
  return {
    ...here,
    node,
    cluster,
    files,
    /** Move its monotonic clock on. */
    moveOn(ms: number) {
      movedOnMs += ms;
    },
    pull: (tell: (view: PullView) => void = () => {}, source = SOURCE) =>
      here.pulls.pull({ source }, tell, FOREVER),
    async [Symbol.asyncDispose]() {
      await here.pulls[Symbol.asyncDispose]();
      await cluster[Symbol.asyncDispose]();
      await here.store[Symbol.asyncDispose]();
    },
  };
}

/**
 * Bytes of files that a hub gave, single ones apart that only ask what there is.
 *
 * @param hub The hub.
 */
export function givenBytes(hub: HubServer): number {
  return hub.requests.reduce((sum, { path, range }) => {
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range ?? "") ?? [];
    if (last === "0") return sum;
    if (range !== null) return sum + Number(last) - Number(first) + 1;
    return path.startsWith("/api/") ? sum : sum + Infinity;
  }, 0);
}

/**
 * Wait until a member has met others.
 *
 * @param node The member.
 * @param count How many.
 */
export async function met(node: TestNode, count: number): Promise<void> {
  while (
    node.log.lines.filter(({ message }) => message === "A member is healthy")
      .length < count
  ) await node.log.next();
}
