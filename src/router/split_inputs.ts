import type { InferenceRequest, JsonValue } from "../domain/mod.ts";

/**
 * Tokens of each input of a request whose inputs may be answered apart: a share
 * of the request's tokens by length.
 *
 * @param request The request.
 * @returns At least two counts, or null where there is nothing to divide.
 */
export function divisibleInputs(
  request: InferenceRequest,
): readonly number[] | null {
  const { input } = request.body;
  const isList = request.capability === "embedding" && Array.isArray(input) &&
    input.length === request.inputCount && input.length >= 2;
  if (!isList) return null;
  const lengths = input.map(lengthOf);
  const all = lengths.reduce((sum, one) => sum + one, 0);
  return lengths.map((one) => request.promptTokens * one / Math.max(1, all));
}

/**
 * Cut a part out of a request.
 *
 * @param request A request that `divisibleInputs` divides.
 * @param part Which inputs, and their tokens.
 */
export function partOf(
  request: InferenceRequest,
  part: {
    readonly from: number;
    readonly count: number;
    readonly tokens: number;
  },
): InferenceRequest {
  const { input } = request.body;
  return {
    ...request,
    body: {
      ...request.body,
      input: Array.isArray(input)
        ? input.slice(part.from, part.from + part.count)
        : null,
    },
    promptTokens: Math.max(1, Math.round(part.tokens)),
    inputCount: part.count,
  };
}

function lengthOf(input: JsonValue): number {
  return typeof input === "string" || Array.isArray(input) ? input.length : 1;
}
