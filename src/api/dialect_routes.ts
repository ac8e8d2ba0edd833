import { createBodyHandler } from "./body_handler.ts";
import type { ApiOptions, Handler } from "./context.ts";
import { createInferenceHandler, type ObjectReader } from "./inference.ts";
import type { InferenceReader } from "./inference_reader.ts";
import type { OllamaAdmin } from "./ollama/model_admin.ts";
import type { OllamaLists } from "./ollama/model_handlers.ts";
import type { Route } from "./route_table.ts";
import type { RouteTarget } from "./route_target.ts";

/**
 * The routes of dialects other than OpenAI's chat. Each is loaded at its first
 * request, so that a node that nobody asks in it does not pay for it.
 *
 * @param options What the API is built from.
 * @returns Rows of the table.
 */
export function createDialectRoutes(
  options: ApiOptions,
): readonly Route<RouteTarget>[] {
  const startedMs = options.clock.now();
  const infer = (
    pattern: string,
    load: () => Promise<InferenceReader>,
    readObject?: ObjectReader,
  ): Route<RouteTarget> => ({
    method: "POST",
    pattern,
    target: {
      scope: "infer",
      handle: createInferenceHandler(options, load, readObject),
    },
  });
  const listed = (
    method: "GET" | "POST",
    pattern: string,
    which: keyof OllamaLists,
  ): Route<RouteTarget> => {
    const handle: Handler = async (call) => {
      const { createOllamaLists } = await import("./ollama/model_handlers.ts");
      return await createOllamaLists(options, startedMs)[which](call);
    };
    return { method, pattern, target: { scope: "read", handle } };
  };
  const admin = (
    method: "POST" | "DELETE",
    pattern: string,
    which: keyof OllamaAdmin,
  ): Route<RouteTarget> => {
    const handle: Handler = async (call) => {
      const { createOllamaAdmin } = await import("./ollama/model_admin.ts");
      return await createOllamaAdmin(options)[which](call);
    };
    return { method, pattern, target: { scope: "admin", handle } };
  };
  return [
    infer(
      "/v1/responses",
      async () => (await import("./openai/responses.ts")).readResponses,
    ),
    infer(
      "/v1/messages",
      async () => (await import("./anthropic/messages.ts")).readMessages,
    ),
    {
      method: "POST",
      pattern: "/v1/messages/count_tokens",
      target: {
        scope: "infer",
        handle: createBodyHandler(
          options,
          async () => (await import("./anthropic/messages.ts")).countTokens,
        ),
      },
    },
    infer(
      "/v1/rerank",
      async () => (await import("./openai/rerank.ts")).readRerank,
    ),
    infer(
      "/v1/audio/speech",
      async () => (await import("./openai/audio/speech.ts")).readSpeech,
    ),
    infer(
      "/v1/audio/transcriptions",
      async () =>
        (await import("./openai/audio/transcription.ts")).readTranscription,
      async (...form) =>
        await (await import("./openai/audio/audio_form.ts")).readAudioForm(
          ...form,
        ),
    ),
    infer(
      "/api/chat",
      async () => (await import("./ollama/generation.ts")).readChat,
    ),
    infer(
      "/api/generate",
      async () => (await import("./ollama/generation.ts")).readGenerate,
    ),
    infer(
      "/api/embed",
      async () => (await import("./ollama/embed.ts")).readEmbed,
    ),
    infer(
      "/api/embeddings",
      async () => (await import("./ollama/embed.ts")).readEmbeddings,
    ),
    listed("GET", "/api/tags", "tags"),
    listed("GET", "/api/ps", "running"),
    listed("POST", "/api/show", "show"),
    listed("GET", "/api/version", "version"),
    admin("POST", "/api/pull", "pull"),
    admin("DELETE", "/api/delete", "remove"),
    admin("POST", "/api/copy", "copy"),
  ];
}
