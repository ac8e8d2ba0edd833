import { z } from "zod";
import type { Capability, ModelFeature } from "../../domain/mod.ts";
import {
  capabilitiesByName,
  type CatalogueAnswer,
  type CatalogueModel,
  MOST_MODELS,
} from "./catalogue.ts";
import { createOllamaClient } from "./ollama_client.ts";
import { isPassedOver } from "./ollama_request.ts";
import type { UpstreamHttp } from "./upstream_http.ts";
import type { UpstreamProfile } from "./upstream_profile.ts";

/** Servers older than their `capabilities` list models of these families for embeddings. */
const EMBEDDING_FAMILY = /bert/i;
const KEPT_DETAILS = 4_096;
/** It has no route for anything else. */
const SERVED: ReadonlySet<Capability> = new Set([
  "chat",
  "completion",
  "embedding",
]);

const modelSchema = z.object({
  name: z.string().min(1).max(512),
  size: z.number().nonnegative().nullish().catch(null),
  digest: z.string().max(128).nullish().catch(null),
  details: z.object({ family: z.string().nullish() }).nullish().catch(null),
});
const tagsSchema = z.object({ models: z.array(z.unknown()) });
const psSchema = z.object({
  models: z.array(z.object({
    name: z.string(),
    context_length: z.number().positive().nullish().catch(null),
  })),
});
const versionSchema = z.object({ version: z.string().min(1) });
const showSchema = z.object({
  capabilities: z.array(z.string()).nullish().catch(null),
  parameters: z.string().nullish().catch(null),
  model_info: z.record(z.string(), z.unknown()).nullish().catch(null),
});

interface Details {
  readonly capabilities: readonly Capability[];
  readonly features: readonly ModelFeature[];
  readonly contextLength: number | null;
  /** What it was trained for. */
  readonly contextLimit: number | null;
}

/**
 * The profile of Ollama: models from `/api/tags`, what they do from
 * `/api/show`, what is loaded from `/api/ps`. It runs one sequence a model
 * unless told otherwise, and does not say what it was told.
 */
export function createOllamaProfile(): UpstreamProfile {
  /** What was shown of a model, by name and digest: it never changes. */
  const shown = new Map<string, Details>();
  return {
    slots: 1,
    heeding: createOllamaClient,
    passesOver: isPassedOver,
    emptyContent: "",
    onlyMaxTokens: true,
    async list(http, signal): Promise<CatalogueAnswer> {
      const tags = await http.probe("/api/tags", signal);
      const parsed = tags.kind === "json"
        ? tagsSchema.safeParse(tags.value)
        : undefined;
      if (parsed?.data === undefined) return notOllama("has no /api/tags");
      const version = await http.probe("/api/version", signal);
      if (
        version.kind !== "json" ||
        !versionSchema.safeParse(version.value).success
      ) return notOllama("has no /api/version");
      const loaded = await listLoaded(http, signal);
      const models: CatalogueModel[] = [];
      for (const one of parsed.data.models.slice(0, MOST_MODELS)) {
        const model = modelSchema.safeParse(one).data;
        if (model === undefined) continue;
        const details = await detailsOf(model, http, signal, shown);
        models.push({
          name: model.name,
          ...details,
          contextLength: loaded.get(model.name) ?? details.contextLength,
          contextLimit: details.contextLimit,
          sizeBytes: model.size ?? null,
          isLoaded: loaded.has(model.name),
        });
      }
      return { kind: "listed", catalogue: { models, slots: null } };
    },
  };
}

/** Context of each loaded model by its name, null where that is not said. */
async function listLoaded(
  http: UpstreamHttp,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number | null>> {
  const answer = await http.probe("/api/ps", signal);
  if (answer.kind !== "json") return new Map();
  const { data } = psSchema.safeParse(answer.value);
  return new Map(
    (data?.models ?? []).map((one) => [one.name, one.context_length ?? null]),
  );
}

async function detailsOf(
  model: z.infer<typeof modelSchema>,
  http: UpstreamHttp,
  signal: AbortSignal,
  shown: Map<string, Details>,
): Promise<Details> {
  const key = `${model.name} ${model.digest ?? ""}`;
  const known = shown.get(key);
  if (known !== undefined) return known;
  const answer = await http.probe("/api/show", signal, { model: model.name });
  const show = answer.kind === "json"
    ? showSchema.safeParse(answer.value).data
    : undefined;
  const details = readDetails(model, show);
  if (show !== undefined && shown.size < KEPT_DETAILS) shown.set(key, details);
  return details;
}

function readDetails(
  model: z.infer<typeof modelSchema>,
  show: z.infer<typeof showSchema> | undefined,
): Details {
  const words = show?.capabilities ?? null;
  const capabilities = words === null
    ? EMBEDDING_FAMILY.test(model.details?.family ?? "")
      ? ["embedding" as const]
      : capabilitiesByName(model.name).filter((one) => SERVED.has(one))
    : capabilitiesOf(words);
  const features: ModelFeature[] = capabilities.includes("chat")
    ? ["json_schema"]
    : [];
  if (words?.includes("tools") === true) features.push("tools");
  if (words?.includes("vision") === true) features.push("vision");
  const contextLimit = trainedContextOf(show);
  return {
    capabilities,
    features,
    contextLength: setContextOf(show) ?? contextLimit,
    contextLimit,
  };
}

function capabilitiesOf(words: readonly string[]): readonly Capability[] {
  const found: Capability[] = [];
  if (words.includes("completion")) found.push("chat", "completion");
  if (words.includes("embedding")) found.push("embedding");
  return found;
}

/** What its Modelfile sets, or null. */
function setContextOf(
  show: z.infer<typeof showSchema> | undefined,
): number | null {
  const set = /^num_ctx\s+(\d{1,9})\s*$/m.exec(show?.parameters ?? "")?.[1];
  return set === undefined ? null : Number(set);
}

/** What it was trained for. */
function trainedContextOf(
  show: z.infer<typeof showSchema> | undefined,
): number | null {
  for (const [name, value] of Object.entries(show?.model_info ?? {})) {
    if (name.endsWith(".context_length") && typeof value === "number") {
      return value;
    }
  }
  return null;
}

function notOllama(problem: string): CatalogueAnswer {
  return { kind: "other", reason: `is not Ollama: it ${problem}` };
}
