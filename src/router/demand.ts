import type { InferenceRequest, ModelSet } from "../domain/mod.ts";
import { type AskedOffer, askedOffers } from "./asked_offers.ts";
import type { Demand, EngineSnapshot } from "./candidate.ts";
import { choicesOf } from "./choices.ts";
import { decodes } from "./estimate.ts";
import type { LengthBook } from "./length_book.ts";
import { parseModelName } from "./model_name.ts";
import { OutputLengths, PRIOR_OUTPUT_TOKENS } from "./output_length.ts";

/**
 * Read from a request what its placement rests on.
 *
 * @param request The request.
 * @param engines Whose own experience counts where this node has none.
 * @param lengths What this entry node knows of answers' lengths.
 * @param sets Names that an operator joined.
 * @param asked The engines' offers of the model, where they were found already.
 */
export function demandOf(
  request: InferenceRequest,
  engines: readonly EngineSnapshot[],
  lengths: LengthBook,
  sets: readonly ModelSet[] = [],
  asked?: readonly AskedOffer[],
): Demand {
  const model = parseModelName(request.model, sets);
  const choices = choicesOf(request);
  return {
    model,
    capability: request.capability,
    source: request.source,
    promptTokens: request.promptTokens,
    inputCount: request.inputCount,
    needs: request.needs,
    ...(choices > 1 ? { choices } : {}),
    ...(request.upkeep?.contextLength === undefined
      ? {}
      : { contextLength: request.upkeep.contextLength }),
    ...(request.upkeep?.only === "load" ? { loadsOnly: true } : {}),
    expected: decodes(request.capability)
      ? lengths.stretch.apply(
        (lengths.find(request.model, request.client) ?? new OutputLengths())
          .expected(
            request.maxOutputTokens,
            priorTokens(asked ?? askedOffers(model, engines)),
          ),
        request.maxOutputTokens,
      )
      : { meanTokens: 0, medianTokens: 0 },
  };
}

/**
 * What is left to do of a request that another engine began to answer.
 *
 * @param whole The whole request.
 * @param resume What is there of the answer, and the weights that wrote it.
 */
export function demandOfRest(
  whole: Demand,
  resume: { readonly tokens: number; readonly root: string },
): Demand {
  const { meanTokens, medianTokens, p80Tokens } = whole.expected;
  return {
    ...whole,
    promptTokens: whole.promptTokens + resume.tokens,
    needs: [...whole.needs, "resume"],
    root: resume.root,
    expected: {
      ...whole.expected,
      meanTokens: Math.max(1, meanTokens - resume.tokens),
      medianTokens: Math.max(1, medianTokens - resume.tokens),
      ...(p80Tokens === undefined
        ? {}
        : { p80Tokens: Math.max(1, p80Tokens - resume.tokens) }),
    },
  };
}

/**
 * Whether a request's expected length is a forecast, which may hold or not,
 * rather than the limit that the caller set.
 *
 * @param demand The request.
 * @param boundTokens Its limit, or null.
 */
export function isForecast(
  { capability, expected: { p80Tokens } }: Demand,
  boundTokens: number | null,
): boolean {
  return decodes(capability) && p80Tokens !== undefined &&
    (boundTokens === null || p80Tokens < boundTokens);
}

/** The mean of whoever has seen most answers of the model. */
function priorTokens(asked: readonly AskedOffer[]): number {
  let most = 0;
  let tokens = PRIOR_OUTPUT_TOKENS;
  for (const { tier, offer: { rates } } of asked) {
    if (tier !== 0 || rates.observations <= most) continue;
    most = rates.observations;
    tokens = rates.expectedOutputTokens;
  }
  return tokens;
}
