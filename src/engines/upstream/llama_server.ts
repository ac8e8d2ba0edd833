import { z } from "zod";
import type { CatalogueModel } from "./catalogue.ts";
import { readOpenAiList } from "./openai_list.ts";
import type { UpstreamProfile } from "./upstream_profile.ts";

const propsSchema = z.object({
  total_slots: z.int().positive(),
  default_generation_settings: z.object({
    n_ctx: z.number().positive().nullish().catch(null),
  }),
  modalities: z.object({ vision: z.boolean().nullish() }).nullish()
    .catch(null),
});

/** The profile of llama.cpp's server: slots and context of one from `/props`. */
export const LLAMA_SERVER: UpstreamProfile = {
  slots: 1,
  async list(http, signal) {
    const answer = await http.probe("/props", signal);
    const props = answer.kind === "json"
      ? propsSchema.safeParse(answer.value).data
      : undefined;
    if (props === undefined) {
      return {
        kind: "other",
        reason: "is not llama-server, or still loads: it has no /props",
      };
    }
    const list = await readOpenAiList(http, signal);
    if (list.kind === "other") return list;
    return {
      kind: "listed",
      catalogue: {
        slots: props.total_slots,
        models: list.models.map((model) => withProps(model, props)),
      },
    };
  },
};

function withProps(
  model: CatalogueModel,
  props: z.infer<typeof propsSchema>,
): CatalogueModel {
  return {
    ...model,
    // It has no routes for sound, whatever a model is called.
    capabilities: model.capabilities.filter((one) =>
      one !== "transcription" && one !== "speech"
    ),
    contextLength: props.default_generation_settings.n_ctx ??
      model.contextLength,
    features: props.modalities?.vision === true
      ? model.features
      : model.features.filter((feature) => feature !== "vision"),
  };
}
