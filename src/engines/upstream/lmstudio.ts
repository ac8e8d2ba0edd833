import { z } from "zod";
import type { Capability, ModelFeature } from "../../domain/mod.ts";
import { type CatalogueModel, MOST_MODELS } from "./catalogue.ts";
import type { UpstreamProfile } from "./upstream_profile.ts";

const modelSchema = z.object({
  id: z.string().min(1).max(512),
  type: z.string(),
  state: z.string(),
  max_context_length: z.number().positive().nullish().catch(null),
  loaded_context_length: z.number().positive().nullish().catch(null),
  capabilities: z.array(z.string()).nullish().catch(null),
});
const listSchema = z.object({
  object: z.literal("list"),
  data: z.array(modelSchema),
});

/** The profile of LM Studio: models with kind and load state from `/api/v0/models`. */
export const LMSTUDIO: UpstreamProfile = {
  slots: 1,
  emptyContent: "",
  onlyMaxTokens: true,
  async list(http, signal) {
    const answer = await http.probe("/api/v0/models", signal);
    const list = answer.kind === "json"
      ? listSchema.safeParse(answer.value).data
      : undefined;
    if (list === undefined) {
      return {
        kind: "other",
        reason: "is not LM Studio: it has no /api/v0/models",
      };
    }
    const models = list.data.slice(0, MOST_MODELS).map(readModel);
    return { kind: "listed", catalogue: { models, slots: null } };
  },
};

function readModel(model: z.infer<typeof modelSchema>): CatalogueModel {
  const isLoaded = model.state === "loaded";
  return {
    name: model.id,
    capabilities: capabilitiesOf(model.type),
    features: featuresOf(model),
    contextLength: (isLoaded ? model.loaded_context_length : null) ??
      model.max_context_length ?? null,
    sizeBytes: null,
    isLoaded,
  };
}

function capabilitiesOf(type: string): readonly Capability[] {
  if (type === "embeddings") return ["embedding"];
  return type === "llm" || type === "vlm" ? ["chat", "completion"] : [];
}

function featuresOf(
  { capabilities, type }: z.infer<typeof modelSchema>,
): readonly ModelFeature[] {
  if (type === "embeddings") return [];
  const features: ModelFeature[] = ["json_schema"];
  // Servers older than the list of capabilities do tools with any model.
  if (capabilities?.includes("tool_use") ?? true) features.push("tools");
  if (type === "vlm") features.push("vision");
  return features;
}
