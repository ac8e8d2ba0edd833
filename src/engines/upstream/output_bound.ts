import type { InferenceRequest } from "../../domain/mod.ts";

/**
 * Write the bound of an answer as servers take it that know OpenAI's older name
 * for it alone and pass over the newer one, so that answers run on (REQ-01).
 *
 * @param request A request; the newer name counts where both are given.
 * @returns The very same request where the older name says it all.
 */
export function withMaxTokens(request: InferenceRequest): InferenceRequest {
  const { max_completion_tokens: most, ...body } = request.body;
  return most === undefined
    ? request
    : { ...request, body: { ...body, max_tokens: most } };
}
