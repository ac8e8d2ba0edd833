import type {
  Capability,
  InferenceRequest,
  JsonObject,
  JsonValue,
} from "../domain/mod.ts";

/** Where the inputs stand in the body, for kinds of work whose inputs are answered apart. */
const LISTS: Readonly<Partial<Record<Capability, string>>> = {
  embedding: "input",
  rerank: "documents",
};

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
  const list = LISTS[request.capability];
  const inputs = list === undefined ? undefined : request.body[list];
  const isList = Array.isArray(inputs) && inputs.length >= 2 &&
    inputs.length === request.inputCount;
  if (!isList) return null;
  const shared = sharedLength(request.body);
  const lengths = inputs.map((one) => shared + lengthOf(one));
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
  const list = LISTS[request.capability] ?? "input";
  const inputs = request.body[list];
  return {
    ...request,
    body: {
      ...request.body,
      [list]: Array.isArray(inputs)
        ? inputs.slice(part.from, part.from + part.count)
        : null,
    },
    promptTokens: Math.max(1, Math.round(part.tokens)),
    inputCount: part.count,
  };
}

/** What is read together with each input: the query of a rerank request. */
function sharedLength({ query }: JsonObject): number {
  return typeof query === "string" ? query.length : 0;
}

function lengthOf(input: JsonValue): number {
  return typeof input === "string" || Array.isArray(input) ? input.length : 1;
}
