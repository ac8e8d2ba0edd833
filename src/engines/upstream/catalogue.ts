import type { Capability, ModelFeature } from "../../domain/mod.ts";

/** A model that an upstream server has. */
export interface CatalogueModel {
  /** The server's own name for it. */
  readonly name: string;
  readonly capabilities: readonly Capability[];
  readonly features: readonly ModelFeature[];
  /** Tokens of prompt and answer together, or null where the server does not say. */
  readonly contextLength: number | null;
  /** Tokens that it can be loaded with at a caller's wish; absent or null where that is `contextLength`. */
  readonly contextLimit?: number | null;
  /** Size of its weights, or null where the server does not say. */
  readonly sizeBytes: number | null;
  /** Whether it is in memory; servers that do not say have theirs loaded. */
  readonly isLoaded: boolean;
}

/** What an upstream server said of itself. */
export interface Catalogue {
  readonly models: readonly CatalogueModel[];
  /** Sequences it runs side by side, or null where it does not say. */
  readonly slots: number | null;
}

/** What a server answered that was asked for its models. */
export type CatalogueAnswer =
  | { readonly kind: "listed"; readonly catalogue: Catalogue }
  | { readonly kind: "other"; readonly reason: string };

/** More models than anybody has; what is beyond is left out, so that what peers are told stays small. */
export const MOST_MODELS = 500;
/** A chat model's features where the server does not say which it lacks: it refuses by itself. */
export const ALL_CHAT_FEATURES: readonly ModelFeature[] = [
  "tools",
  "vision",
  "json_schema",
  "logprobs",
  "n",
];

const EMBEDDING_NAME =
  /embed|(?:^|[\/_:-])(?:bge|e5|gte|minilm|all-mpnet|jina-clip|arctic-embed)(?=$|[._:-])/i;
const RERANK_NAME = /rerank|cross-encoder|ms-marco/i;
const HEARING_NAME =
  /whisper|transcri|parakeet|(?:^|[\/_:-])(?:stt|asr)(?=$|[._:-])/i;
const SPEAKING_NAME =
  /(?:^|[\/_:-])(?:tts|kokoro|piper|orpheus|chatterbox)(?=$|[._:-])|-tts/i;
const OTHER_NAME =
  /(?:^|[\/_:-])(?:dall-e|sora)(?=$|[._:-])|moderation|gpt-image|realtime|imagen|veo-/i;

/**
 * Guess from a model's name what it does, where its server does not say.
 *
 * @param name The name.
 * @returns What it can be asked for; nothing for a kind of model that is not served here.
 */
export function capabilitiesByName(name: string): readonly Capability[] {
  if (RERANK_NAME.test(name)) return ["rerank"];
  if (OTHER_NAME.test(name)) return [];
  if (HEARING_NAME.test(name)) return ["transcription"];
  if (SPEAKING_NAME.test(name)) return ["speech"];
  return EMBEDDING_NAME.test(name) ? ["embedding"] : ["chat", "completion"];
}
