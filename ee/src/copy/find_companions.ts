import type { NodeId } from "@covey/core/domain";
import { fetchManifest } from "./copy_calls.ts";
import type { CopiesOptions } from "./copies_options.ts";

/** What goes with a model, and who has the model without it. */
export interface FoundCompanions {
  /** Root of what goes with it; null for nothing. */
  readonly root: string | null;
  /** Members that have the model alone. */
  readonly without: ReadonlySet<NodeId>;
}

/**
 * Find out what goes with a model, from those that have it. As with the model
 * itself, its root is fixed before anything is copied. This node's own comes
 * first; else that of the holder with the smallest id.
 *
 * @param model Root of the model.
 * @param holders Members that have it.
 * @param options The members.
 * @param signal Aborting it ends the questions with the signal's reason.
 */
export async function findCompanions(
  model: string,
  holders: ReadonlySet<NodeId>,
  { host, peers, platform: { clock } }: Pick<
    CopiesOptions,
    "host" | "peers" | "platform"
  >,
  signal: AbortSignal,
): Promise<FoundCompanions> {
  const { models, node } = host;
  const name = models?.list().find(({ root }) => root === model)?.name;
  const own = name === undefined
    ? null
    : (await models?.companions?.(name))?.root ?? null;
  const asked = peers.list().filter(({ row }) => holders.has(row.id)).map(
    async ({ channel, row }) => {
      try {
        const manifest = await fetchManifest(channel, model, { clock, signal });
        return { node: row.id, root: manifest.companions ?? null };
      } catch {
        // One that does not answer has nothing to say in it.
        signal.throwIfAborted();
        return null;
      }
    },
  );
  const answers = (await Promise.all(asked)).flatMap((one) => one ?? [])
    .sort((a, b) => a.node < b.node ? -1 : 1);
  const root = own ?? answers.find((one) => one.root !== null)?.root ?? null;
  const all = name === undefined
    ? answers
    : [...answers, { node: node.id, root: own }];
  return {
    root,
    without: new Set(
      root === null
        ? []
        : all.filter((one) => one.root === null).map((one) => one.node),
    ),
  };
}
