import {
  type JsonObject,
  type ModelListing,
  neededMemory,
  type PlacedOffer,
  type Residency,
} from "../../domain/mod.ts";
import { findModel } from "../openai/models.ts";
import { wrongField } from "../openai/request_fault.ts";
import { detailsOf, type HeaderOf } from "./model_details.ts";
import { tagDigest } from "./tag_digest.ts";

/** The state of Ollama's API that is spoken here; clients look for what a version knows. */
export const OLLAMA_VERSION = "0.13.5";

/**
 * Write `GET /api/tags`.
 *
 * @param listings The models in reach.
 * @param headerOf Finds what a model's file says.
 * @param modifiedAt ISO 8601; when this node started, since no engine knows.
 */
export async function tagsOf(
  listings: readonly ModelListing[],
  headerOf: HeaderOf,
  modifiedAt: string,
): Promise<JsonObject> {
  return {
    models: await Promise.all(listings.map(async (one) => ({
      ...await tagOf(one, headerOf),
      modified_at: modifiedAt,
    }))),
  };
}

/**
 * Write `GET /api/ps`: the models that are in memory somewhere or on their way
 * there, engine by engine.
 *
 * @param offers What engines in reach say of their models.
 * @param headerOf Finds what a model's file says.
 * @param nowMs Wall-clock time.
 */
export async function runningOf(
  offers: readonly PlacedOffer[],
  headerOf: HeaderOf,
  nowMs: number,
): Promise<JsonObject> {
  const inMemory = offers.filter(({ offer: { state } }) =>
    state.kind === "warm" || state.kind === "loading"
  );
  return {
    models: await Promise.all(
      inMemory.map((one) => runningModel(one, headerOf, nowMs)),
    ),
  };
}

async function runningModel(
  { nodeName, offer }: PlacedOffer,
  headerOf: HeaderOf,
  nowMs: number,
): Promise<JsonObject> {
  const { contextLength, memory, model, residency, root, state } = offer;
  const reckoned = memory === undefined ? null : neededMemory(memory);
  const memoryBytes = residency?.memoryBytes ?? reckoned ??
    offer.sizeBytes ?? undefined;
  return {
    ...await tagOf({
      model,
      ...(memoryBytes === undefined ? {} : { sizeBytes: memoryBytes }),
      ...(root === null ? {} : { root }),
    }, headerOf),
    expires_at: new Date(expiryOf(residency, nowMs)).toISOString(),
    size_vram: residency?.cardBytes ?? 0,
    context_length: contextLength,
    node: nodeName,
    pinned: residency?.isPinned ?? false,
    ...(state.kind === "loading"
      ? { load_progress: state.progress ?? null }
      : {}),
  };
}

/** Two hundred years: what `ollama ps` shows as for ever. */
const FOR_EVER_MS = 200 * 365 * 24 * 3_600_000;

/** A model that nobody speaks of may go at any time; one in use has its time before it still. */
function expiryOf(residency: Residency | undefined, nowMs: number): number {
  if (residency === undefined) return nowMs;
  if (residency.expiresInMs !== null) return nowMs + residency.expiresInMs;
  return nowMs + (residency.isInUse && !residency.isPinned ? 0 : FOR_EVER_MS);
}

/** Weights of unknown size, such as a provider's, have size 0. */
async function tagOf(
  listing: Pick<ModelListing, "model" | "sizeBytes" | "root">,
  headerOf: HeaderOf,
): Promise<JsonObject> {
  const { model, sizeBytes } = listing;
  return {
    name: model,
    model,
    size: sizeBytes ?? 0,
    digest: await tagDigest(listing),
    details: detailsOf(headerOf(model)),
  };
}

/**
 * Answer `POST /api/show`.
 *
 * @param body The body; `name` is the older spelling of `model`.
 * @param listings The models in reach.
 * @param headerOf Finds what a model's file says.
 * @param modifiedAt ISO 8601.
 * @throws {Fault} `model_not_found`, or `invalid_request` where none is named.
 */
export function showModel(
  body: JsonObject,
  listings: readonly ModelListing[],
  headerOf: HeaderOf,
  modifiedAt: string,
): JsonObject {
  // By hand: whoever only looks around must not load the schemas' library.
  const name = body.model ?? body.name;
  if (typeof name !== "string" || name === "") {
    throw wrongField("model", "must name a model");
  }
  const listing = findModel(listings, name);
  const header = headerOf(listing.model);
  const architecture = header?.architecture ?? UNKNOWN_ARCHITECTURE;
  return {
    modelfile: "",
    parameters: "",
    template: "",
    details: detailsOf(header),
    model_info: {
      "general.architecture": architecture,
      // What editors show the model as.
      "general.basename": listing.model,
      [`${architecture}.context_length`]: listing.contextLength,
    },
    capabilities: capabilitiesOf(listing),
    modified_at: modifiedAt,
  };
}

/** Of a model that does not lie here; clients look for `<architecture>.context_length`. */
const UNKNOWN_ARCHITECTURE = "covey";

function capabilitiesOf(
  { capabilities, features = [] }: ModelListing,
): readonly string[] {
  const shown: string[] = [];
  if (capabilities.includes("chat") || capabilities.includes("completion")) {
    shown.push("completion");
  }
  if (capabilities.includes("embedding")) shown.push("embedding");
  if (features.includes("tools")) shown.push("tools");
  if (features.includes("vision")) shown.push("vision");
  return shown;
}
