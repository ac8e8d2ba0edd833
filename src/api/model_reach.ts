import type { ModelListing, PlacedOffer } from "../domain/mod.ts";
import type { ApiOptions, Call } from "./context.ts";
import { modelsInReach } from "./openai/models.ts";
import { pinSource, settleSource } from "./request_source.ts";

/**
 * The models that a request's path or header reaches.
 *
 * @param call The request.
 * @param options What the API is built from.
 * @returns The listings.
 * @throws {Fault} When the source is no source, or its node no member.
 */
export function listingsFor(
  { fields, prefix }: Pick<Call, "fields" | "prefix">,
  { router, members, self }: Pick<ApiOptions, "router" | "members" | "self">,
): readonly ModelListing[] {
  const said = settleSource({
    body: undefined,
    header: fields.get("x-covey-source"),
    prefix,
  });
  return modelsInReach(
    router.models(),
    pinSource(said, members()),
    self.id,
    members(),
  );
}

/**
 * What engines in a request's reach say of their models.
 *
 * @param call The request.
 * @param options What the API is built from.
 * @throws {Fault} When the source is no source.
 */
export function offersFor(
  { fields, prefix }: Pick<Call, "fields" | "prefix">,
  { router, members, self }: Pick<ApiOptions, "router" | "members" | "self">,
): readonly PlacedOffer[] {
  const said = settleSource({
    body: undefined,
    header: fields.get("x-covey-source"),
    prefix,
  });
  const source = pinSource(said, members());
  return router.offers().filter(({ node, nodeName }) => {
    switch (source.kind) {
      case "unsaid":
      case "cluster":
        return true;
      case "local":
        return node === self.id;
      case "node":
        return node === source.node || nodeName === source.node;
      default: {
        const never: never = source;
        return never;
      }
    }
  });
}
