import { Fault, type NodeId } from "@covey/core/domain";
import type { CopiesOptions } from "./copies_options.ts";

const DIGEST = /^[0-9a-f]{64}$/;

/** A model that some member has. */
export interface FoundModel {
  readonly model: { readonly model: string; readonly root: string };
  /** Members that have it whole. */
  readonly holders: ReadonlySet<NodeId>;
}

interface Offered {
  readonly node: NodeId;
  readonly model: string;
  readonly root: string | null;
}

/**
 * Find the one model that a name or a root means, here or on peers. This
 * node's own comes first: it is what an operator sees here.
 *
 * @throws {Fault} When there is none, or more than one, or it is not digested yet.
 */
export function findModel(
  text: string,
  options: Pick<CopiesOptions, "host" | "peers">,
): FoundModel {
  const { host } = options;
  const offered = offers(options);
  const named = offered.filter(({ model, root }) =>
    model === text || root === text
  );
  const own = named.filter(({ node }) => node === host.node.id);
  const meant = own.some(({ root }) => root !== null) ? own : named;
  const roots = new Set(meant.flatMap(({ root }) => root ?? []));
  const quoted = JSON.stringify(text);
  const [root, ...others] = roots;
  if (root === undefined) {
    throw named.length === 0
      ? new Fault(
        "model_not_found",
        `No member has the weights of a model ${quoted}; \`covey models\` lists what there is`,
        { param: "model" },
      )
      : new Fault(
        "invalid_request",
        `No member has digested weights of ${quoted}: those on disk are digested in the background, so ask again in a moment; simulated and upstream models have none to copy`,
        { param: "model" },
      );
  }
  if (others.length > 0) {
    throw new Fault(
      "invalid_request",
      `Members have ${roots.size} models called ${quoted} that differ; name one by its root: ${
        [...roots].join(", ")
      }`,
      { param: "model" },
    );
  }
  const model = meant.find((one) => one.root === root)?.model ?? text;
  return {
    model: { model, root },
    holders: new Set(
      offered.filter((one) => one.root === root).map(({ node }) => node),
    ),
  };
}

function offers(
  { host, peers }: Pick<CopiesOptions, "host" | "peers">,
): readonly Offered[] {
  return [
    ...(host.models?.list() ?? []).map(({ name, root }) => ({
      node: host.node.id,
      model: name,
      root,
    })),
    ...peers.list().flatMap(({ monitor, row }) =>
      (monitor.held?.status.work.engines ?? []).flatMap(({ offers }) =>
        offers.map(({ model, root }) => ({
          node: row.id,
          model,
          // What has no weights has a root of another form, to pool by.
          root: root !== null && DIGEST.test(root) ? root : null,
        }))
      )
    ),
  ];
}
