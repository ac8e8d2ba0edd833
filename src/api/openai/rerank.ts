import * as z from "zod";
import type {
  InferenceRequest,
  JsonObject,
  RoutedAnswer,
} from "../../domain/mod.ts";
import type { InferenceReader } from "../inference_reader.ts";
import { describeSchema } from "../openapi_schema.ts";
import { answerHeaders, readWhole, respondWith } from "./answer.ts";
import { describeNamed, engineBody, parseModelName } from "./generation.ts";
import { rankResults } from "./rerank_answer.ts";
import { checkFields, wrongField } from "./request_fault.ts";
import { estimateTextTokens } from "./token_estimate.ts";

const MOST_DOCUMENTS = 2048;
const QUERY = "must be a text that is not empty";
const DOCUMENTS =
  "must be a non-empty array of texts, each a string or an object with text";
const TOP = "must be a whole number of at least 1";

const SCHEMA = z.looseObject({
  query: z.string({ error: QUERY }).min(1, { error: QUERY }),
  documents: z.array(
    z.union([z.string(), z.looseObject({ text: z.string() })], {
      error: "must be a string or an object with text",
    }),
    { error: DOCUMENTS },
  ).min(1, { error: DOCUMENTS }).max(MOST_DOCUMENTS, {
    error: `must hold at most ${MOST_DOCUMENTS} documents`,
  }),
  top_n: z.int({ error: TOP }).min(1, { error: TOP }).nullish(),
  return_documents: z.boolean({ error: "must be true or false" }).nullish(),
});

type Document = z.infer<typeof SCHEMA>["documents"][number];

/** Fields that Covey answers itself: an engine that has a part of the documents cannot. */
const OWN = new Set(["source", "stream", "top_n", "return_documents"]);

/**
 * Read the body of `POST /v1/rerank`, in the shape that Jina and Cohere made
 * common and vLLM and llama-server speak. Engines get the documents as plain
 * texts and score them all; order, `top_n` and the documents in the answer are
 * Covey's, since the documents may be divided over engines.
 */
export const readRerank: InferenceReader = (body, envelope) => {
  const model = parseModelName(body);
  const { query, documents, ...fields } = checkFields(SCHEMA, body);
  const texts = documents.map(textOf);
  const empty = texts.findIndex((text) => text === "");
  if (empty >= 0) throw wrongField(`documents[${empty}]`, "must not be empty");
  const queryTokens = estimateTextTokens(query);
  const asked: InferenceRequest = {
    ...envelope,
    capability: "rerank",
    model,
    stream: false,
    includeUsage: false,
    body: { ...engineBody(body, OWN), documents: texts },
    // Each document is read together with the query.
    promptTokens: texts.reduce(
      (sum, text) => sum + queryTokens + estimateTextTokens(text),
      0,
    ),
    maxOutputTokens: null,
    inputCount: texts.length,
    needs: [],
  };
  const wanted = {
    most: fields.top_n ?? texts.length,
    documents: fields.return_documents === false ? null : texts,
  };
  return {
    asked,
    answer: async (routed, { nowMs }) =>
      routed.status >= 400
        ? await respondWith(routed, asked, nowMs)
        : await writeRanking(routed, asked, wanted),
  };
};

async function writeRanking(
  routed: RoutedAnswer,
  asked: InferenceRequest,
  wanted: {
    readonly most: number;
    readonly documents: readonly string[] | null;
  },
): Promise<Response> {
  const answer = await readWhole(routed, asked);
  const ranked = rankResults(answer, asked.inputCount);
  const results = ranked.slice(0, wanted.most).map((
    { index, score },
  ): JsonObject => ({
    index,
    ...(wanted.documents === null
      ? {}
      : { document: { text: wanted.documents[index] ?? "" } }),
    relevance_score: score,
  }));
  const headers = answerHeaders(routed);
  headers.push(["content-type", "application/json"]);
  return new Response(
    JSON.stringify({ object: "list", ...answer, results }),
    { status: routed.status, headers },
  );
}

function textOf(document: Document): string {
  return typeof document === "string" ? document : document.text;
}

/** The schema of a rerank request, for the API's description. */
export function describeRerank(): JsonObject {
  return describeSchema(SCHEMA, describeNamed());
}
