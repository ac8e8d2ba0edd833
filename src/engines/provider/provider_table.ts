import type { ModelFeature } from "../../domain/mod.ts";

/** Providers that are known. */
export type ProviderName =
  | "openrouter"
  | "anthropic"
  | "gemini"
  | "groq"
  | "cerebras"
  | "deepseek"
  | "openai";

/** What is particular to one provider; all speak OpenAI's dialect. */
export interface ProviderFacts {
  /** Base of its OpenAI routes; its key goes nowhere else. */
  readonly base: `https://${string}`;
  /** What its chat models can do by that route, each as far as the model itself can. */
  readonly features: readonly ModelFeature[];
  /** Fields of llama.cpp's sampling that it knows; it is not sent the others. */
  readonly samples?: readonly string[];
  /** Whether it has a route for embeddings. */
  readonly embeds: boolean;
  /** Whether it has routes for speech and transcriptions; absent for no. */
  readonly sounds?: true;
  /** Headers of its list of models in place of a bearer token. */
  listHeaders?(key: string): Readonly<Record<string, string>>;
  /** Query of its list where that comes in pages, with the question mark. */
  readonly listQuery?: string;
  /** What its list puts before the names of models. */
  readonly listPrefix?: string;
}

/** Each provider's address and abilities, as its documentation has them. */
export const PROVIDERS: Readonly<Record<ProviderName, ProviderFacts>> = {
  openrouter: {
    base: "https://openrouter.ai/api/v1",
    features: ["tools", "vision", "json_schema", "logprobs"],
    samples: ["top_k", "min_p"],
    embeds: true,
  },
  anthropic: {
    base: "https://api.anthropic.com/v1",
    // Its OpenAI route ignores schemas and logprobs instead of refusing them.
    features: ["tools", "vision"],
    embeds: false,
    listHeaders: (key) => ({
      "x-api-key": key,
      "anthropic-version": "2023-06-01",
    }),
    listQuery: "?limit=1000",
  },
  gemini: {
    base: "https://generativelanguage.googleapis.com/v1beta/openai",
    features: ["tools", "vision", "json_schema"],
    embeds: true,
    listPrefix: "models/",
  },
  groq: {
    base: "https://api.groq.com/openai/v1",
    features: ["tools", "vision", "json_schema"],
    embeds: false,
    sounds: true,
  },
  cerebras: {
    base: "https://api.cerebras.ai/v1",
    features: ["tools", "json_schema", "logprobs"],
    embeds: false,
  },
  deepseek: {
    base: "https://api.deepseek.com/v1",
    features: ["tools", "logprobs"],
    embeds: false,
  },
  openai: {
    base: "https://api.openai.com/v1",
    features: ["tools", "vision", "json_schema", "logprobs", "n"],
    embeds: true,
    sounds: true,
  },
};
