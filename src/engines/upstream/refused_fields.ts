import type { InferenceRequest } from "../../domain/mod.ts";

/**
 * What OpenAI's API has no words for and the other dialects bring along: most
 * providers answer 400 to it, and an Ollama's OpenAI routes pass it over.
 */
export const FOREIGN_FIELDS: readonly string[] = [
  "top_k",
  "min_p",
  "typical_p",
  "repeat_penalty",
  "repeat_last_n",
  "chat_template_kwargs",
];

/**
 * Leave out what a server refuses a request for: callers who speak another
 * dialect than OpenAI's did not ask it for those.
 *
 * @param request A request.
 * @param fields Names of the fields.
 * @returns The very same request where it has none of them.
 */
export function withoutFields(
  request: InferenceRequest,
  fields: readonly string[],
): InferenceRequest {
  const { body } = request;
  if (!fields.some((field) => body[field] !== undefined)) return request;
  return {
    ...request,
    body: Object.fromEntries(
      Object.entries(body).filter(([field]) => !fields.includes(field)),
    ),
  };
}
