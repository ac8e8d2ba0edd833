import { distinctNames, type NodeId } from "../domain/mod.ts";

/**
 * Names of the nodes that the rows of a table are about: two of one name are
 * told apart as `covey members` does it.
 *
 * @param rows Each with its node's id and name.
 * @returns The name to show by node id.
 */
export function nodeNames(
  rows: readonly { readonly node: string; readonly nodeName: string }[],
): ReadonlyMap<string, string> {
  const nodes = new Map(rows.map(({ node, nodeName }) => [node, nodeName]));
  return distinctNames(
    [...nodes].map(([id, name]) => ({ id: id as NodeId, name })),
  );
}
