import type { Capability, ModelFeature } from "../domain/mod.ts";
import type { GgufHeader } from "./gguf_header.ts";

/** What a model can be asked for. */
export interface ModelAbility {
  readonly capabilities: readonly Capability[];
  readonly features: readonly ModelFeature[];
}

/** Architectures of llama.cpp that only encode: no head to write text with. */
const ENCODERS: ReadonlySet<string> = new Set([
  "bert",
  "eurobert",
  "gemma-embedding",
  "jina-bert-v2",
  "jina-bert-v3",
  "llama-embed",
  "modern-bert",
  "neo-bert",
  "nomic-bert",
  "nomic-bert-moe",
  "t5encoder",
]);

const POOLING_NONE = 0;
const POOLING_RANK = 4;

/**
 * Tell what a model is for by its header. Tools and JSON schemas need nothing
 * of the model: the engine holds its answers to a grammar.
 *
 * @param header The model's (first) header.
 * @returns Its capabilities and features.
 */
export function abilityOf(header: GgufHeader): ModelAbility {
  if (header.poolingType === POOLING_RANK) {
    return { capabilities: ["rerank"], features: [] };
  }
  const encoder = ENCODERS.has(header.architecture ?? "");
  const pools = header.poolingType !== null &&
    header.poolingType !== POOLING_NONE;
  if (encoder || pools) return { capabilities: ["embedding"], features: [] };
  return {
    capabilities: ["chat", "completion"],
    features: ["tools", "json_schema"],
  };
}
