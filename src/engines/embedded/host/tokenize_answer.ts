import { z } from "zod";
import type { JsonObject } from "../../../domain/mod.ts";
import { checkFields } from "./field_check.ts";
import { modelOf, type ReadyState } from "./introspection.ts";
import { checkTokens, tokenizePrompt } from "./prompt.ts";

const MAX_TOKENS = 4_000_000;
const textFields = z.object({
  content: z.string(),
  add_special: z.boolean().nullish(),
  parse_special: z.boolean().nullish(),
});
const tokenFields = z.object({ tokens: z.array(z.int()).max(MAX_TOKENS) });

/**
 * Answer `POST /tokenize`, as llama-server does.
 *
 * @param ready The loaded model.
 * @param body `content`, with `add_special` and `parse_special` as wanted.
 * @returns `{tokens}`.
 */
export function answerTokenize(ready: ReadyState, body: JsonObject): Response {
  const read = checkFields(textFields, body);
  const { model } = modelOf(ready);
  const tokens = read.add_special === true
    ? tokenizePrompt(model, read.content)
    : model.tokenize(read.content, read.parse_special ?? true);
  return Response.json({ tokens });
}

/**
 * Answer `POST /detokenize`, as llama-server does.
 *
 * @param ready The loaded model.
 * @param body `tokens`.
 * @returns `{content}`.
 */
export function answerDetokenize(
  ready: ReadyState,
  body: JsonObject,
): Response {
  const { model, vocabularySize } = modelOf(ready);
  const { tokens } = checkFields(tokenFields, body);
  const known = checkTokens(tokens, vocabularySize, "tokens");
  return Response.json({ content: model.detokenize(known, true) });
}
