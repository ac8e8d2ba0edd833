import { z } from "zod";
import type { Capability } from "../../domain/mod.ts";
import {
  ALL_CHAT_FEATURES,
  capabilitiesByName,
  type CatalogueModel,
  MOST_MODELS,
} from "./catalogue.ts";
import type { UpstreamHttp } from "./upstream_http.ts";

const size = z.number().positive().nullish().catch(null);
const modelSchema = z.object({
  id: z.string().min(1).max(512),
  owned_by: z.string().nullish().catch(null),
  // Speaches says what a model is for in Hugging Face's words.
  task: z.string().nullish().catch(null),
  // The same under the names of vLLM, OpenRouter, Groq and llama-server.
  max_model_len: size,
  context_length: size,
  context_window: size,
  meta: z.object({ n_ctx: size, n_ctx_train: size, size }).nullish()
    .catch(null),
});
const listSchema = z.object({ data: z.array(modelSchema) });

/** What `/v1/models` of a server holds. */
export type OpenAiList =
  | {
    readonly kind: "listed";
    readonly models: readonly CatalogueModel[];
    /** Who owns its models, as it says. */
    readonly owners: ReadonlySet<string>;
  }
  | { readonly kind: "other"; readonly reason: string };

/**
 * Ask a server for OpenAI's list of models.
 *
 * @param path Of the list, with a query where it needs one.
 * @throws {TypeError} When it can not be reached.
 */
export async function readOpenAiList(
  http: UpstreamHttp,
  signal: AbortSignal,
  path = "/v1/models",
): Promise<OpenAiList> {
  const answer = await http.probe(path, signal);
  if (answer.kind === "locked") {
    return { kind: "other", reason: "wants a key, or refuses this node's" };
  }
  if (answer.kind === "other") {
    return { kind: "other", reason: `is not this API: it ${answer.reason}` };
  }
  const { data: list } = listSchema.safeParse(answer.value);
  if (list === undefined) {
    return {
      kind: "other",
      reason: "is not this API: its /v1/models is no list of models",
    };
  }
  return {
    kind: "listed",
    models: list.data.slice(0, MOST_MODELS).map(readModel),
    owners: new Set(list.data.flatMap(({ owned_by }) => owned_by ?? [])),
  };
}

const TASKS: Readonly<Record<string, readonly Capability[]>> = {
  "automatic-speech-recognition": ["transcription"],
  "text-to-speech": ["speech"],
};

function readModel(model: z.infer<typeof modelSchema>): CatalogueModel {
  const capabilities = TASKS[model.task ?? ""] ?? capabilitiesByName(model.id);
  return {
    name: model.id,
    capabilities,
    features: capabilities.includes("chat") ? ALL_CHAT_FEATURES : [],
    contextLength: model.max_model_len ?? model.context_length ??
      model.context_window ?? model.meta?.n_ctx ?? model.meta?.n_ctx_train ??
      null,
    sizeBytes: model.meta?.size ?? null,
    isLoaded: true,
  };
}
