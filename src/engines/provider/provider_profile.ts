import type { Capability } from "../../domain/mod.ts";
import type { CatalogueModel } from "../upstream/catalogue.ts";
import { readOpenAiList } from "../upstream/openai_list.ts";
import { FOREIGN_FIELDS } from "../upstream/refused_fields.ts";
import type { UpstreamProfile } from "../upstream/upstream_profile.ts";
import type { ProviderFacts } from "./provider_table.ts";

/** Requests at once; a provider that wants fewer says so by 429. */
const SLOTS = 16;
/** What the largest models of any provider hold: those of less refuse by themselves. */
const UNKNOWN_CONTEXT = 1_048_576;

/**
 * Make the profile of a provider.
 *
 * @param facts What is particular to it.
 */
export function providerProfile(facts: ProviderFacts): UpstreamProfile {
  const { samples = [] } = facts;
  return {
    slots: SLOTS,
    refusedFields: FOREIGN_FIELDS.filter((field) => !samples.includes(field)),
    async list(http, signal) {
      const path = `/v1/models${facts.listQuery ?? ""}`;
      const list = await readOpenAiList(http, signal, path);
      if (list.kind === "other") return list;
      const models = list.models.map((model) => readModel(model, facts));
      return { kind: "listed", catalogue: { models, slots: null } };
    },
  };
}

function isServed(
  capability: Capability,
  { embeds, sounds }: ProviderFacts,
): boolean {
  switch (capability) {
    case "embedding":
      return embeds;
    case "transcription":
    case "speech":
      return sounds === true;
    case "chat":
    case "completion":
    case "rerank":
      return false;
    default: {
      const never: never = capability;
      return never;
    }
  }
}

function readModel(
  model: CatalogueModel,
  facts: ProviderFacts,
): CatalogueModel {
  const { features, listPrefix = "" } = facts;
  const chats = model.capabilities.includes("chat");
  return {
    ...model,
    name: model.name.startsWith(listPrefix)
      ? model.name.slice(listPrefix.length)
      : model.name,
    capabilities: chats
      ? ["chat"]
      : model.capabilities.filter((one) => isServed(one, facts)),
    features: chats ? features : [],
    contextLength: model.contextLength ?? UNKNOWN_CONTEXT,
  };
}
