import {
  Fault,
  type JsonObject,
  type MemberView,
  type ModelListing,
  type NodeId,
  type Source,
} from "../../domain/mod.ts";

/**
 * Leave the models that a source reaches: a base URL that names a node lists
 * what that node has.
 *
 * @param listings All models.
 * @param source What the request's path or header said.
 * @param self This node.
 * @param members The member table, to find a node by its name.
 * @returns The models in reach.
 * @throws {Fault} `not_found` when the named node is no member.
 */
export function modelsInReach(
  listings: readonly ModelListing[],
  source: Source,
  self: NodeId,
  members: readonly MemberView[],
): readonly ModelListing[] {
  switch (source.kind) {
    case "unsaid":
    case "cluster":
      return listings;
    case "local":
      return listings.filter((one) => one.nodes.includes(self));
    case "node": {
      const { node } = source;
      const found = members.find((one) => one.id === node || one.name === node);
      if (found === undefined) {
        throw new Fault(
          "not_found",
          `No member is called "${node}"; GET /cluster/members lists them`,
        );
      }
      return listings.filter((one) => one.nodes.includes(found.id));
    }
    default: {
      const never: never = source;
      return never;
    }
  }
}

/**
 * Write a model as `GET /v1/models` shows it.
 *
 * @param listing The model.
 * @param createdSeconds OpenAI's `created`, which no engine knows: when this node started.
 * @returns OpenAI's model object, with Covey's own fields after OpenAI's.
 */
export function modelObject(
  listing: ModelListing,
  createdSeconds: number,
): JsonObject {
  return {
    id: listing.model,
    object: "model",
    created: createdSeconds,
    owned_by: "covey",
    capabilities: listing.capabilities,
    context_length: listing.contextLength,
    nodes: listing.nodes,
    warm: listing.warm,
  };
}

/**
 * Find a model by its id (MOD-04: ids may hold slashes). A bare name and
 * `name:latest` mean the same (MOD-01).
 *
 * @param listings The models in reach.
 * @param id The id, decoded.
 * @returns The model.
 * @throws {Fault} `model_not_found`.
 */
export function findModel(
  listings: readonly ModelListing[],
  id: string,
): ModelListing {
  const other = id.endsWith(LATEST)
    ? id.slice(0, -LATEST.length)
    : `${id}${LATEST}`;
  const found = listings.find((one) => one.model === id) ??
    listings.find((one) => one.model === other);
  if (found !== undefined) return found;
  throw new Fault(
    "model_not_found",
    `No model is called "${
      id.slice(0, 200)
    }"; GET /v1/models and /api/tags list those there are`,
    { param: "model" },
  );
}

const LATEST = ":latest";
