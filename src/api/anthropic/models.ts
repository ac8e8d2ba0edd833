import type { JsonObject, ModelListing } from "../../domain/mod.ts";

/**
 * Write a model as Anthropic's `GET /v1/models` shows it.
 *
 * @param listing The model.
 * @param createdSeconds When this node started: no engine knows more.
 */
export function modelRow(
  listing: ModelListing,
  createdSeconds: number,
): JsonObject {
  return {
    type: "model",
    id: listing.model,
    display_name: listing.model,
    created_at: new Date(createdSeconds * 1000).toISOString(),
    // One window holds both.
    max_input_tokens: listing.contextLength,
    max_tokens: listing.contextLength,
  };
}

/**
 * Write all models as Anthropic's one and only page.
 *
 * @param listings The models.
 * @param createdSeconds When this node started.
 */
export function modelPage(
  listings: readonly ModelListing[],
  createdSeconds: number,
): JsonObject {
  return {
    data: listings.map((one) => modelRow(one, createdSeconds)),
    has_more: false,
    first_id: listings[0]?.model ?? null,
    last_id: listings.at(-1)?.model ?? null,
  };
}
