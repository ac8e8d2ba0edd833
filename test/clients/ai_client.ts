import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import {
  embed,
  type EmbeddingModel,
  generateText,
  jsonSchema,
  type LanguageModel,
  Output,
  streamText,
  tool,
} from "ai";
import {
  type Client,
  type ClientCases,
  EMBEDDED,
  LONG,
  PROMPT,
  SCHEMA,
  SHORT,
  TOOL,
} from "./client_case.ts";

/** The AI SDK on chat completions and embeddings. */
export const AI_COMPATIBLE: Client = {
  name: "ai 6.0.326, openai-compatible 2.0.92",
  connect({ base, chatModel, embeddingModel }) {
    const provider = createOpenAICompatible({
      name: "covey",
      baseURL: `${base}/v1`,
      includeUsage: true,
      supportsStructuredOutputs: true,
    });
    return {
      ...casesOf(provider(chatModel)),
      embedFloat: () => embedded(provider.embeddingModel(embeddingModel)),
    };
  },
};

/** The AI SDK on messages. */
export const AI_ANTHROPIC: Client = {
  name: "ai 6.0.326, anthropic 3.0.140",
  connect({ base, chatModel }) {
    const provider = createAnthropic({ baseURL: `${base}/v1`, apiKey: "none" });
    return casesOf(provider(chatModel));
  },
};

async function embedded(model: EmbeddingModel): Promise<readonly number[]> {
  return (await embed({ model, value: EMBEDDED, maxRetries: 0 })).embedding;
}

function casesOf(model: LanguageModel): ClientCases {
  const ask = { model, prompt: PROMPT, maxRetries: 0 };
  return {
    async chat() {
      return (await generateText({ ...ask, maxOutputTokens: SHORT })).text;
    },
    async stream() {
      const answer = streamText({
        ...ask,
        maxOutputTokens: SHORT,
        onError: () => {},
      });
      const texts: string[] = [];
      for await (const text of answer.textStream) texts.push(text);
      if (((await answer.usage).outputTokens ?? 0) < 1) {
        throw new Error("No usage came");
      }
      return texts;
    },
    async tools() {
      let failure: unknown;
      const answer = streamText({
        ...ask,
        maxOutputTokens: 200,
        toolChoice: "required",
        onError: ({ error }) => {
          failure = error;
        },
        tools: {
          [TOOL.name]: tool({
            description: TOOL.description,
            inputSchema: jsonSchema(TOOL.schema),
          }),
        },
      });
      const [call] = await answer.toolCalls.then(
        (calls) => calls,
        // Its own error hides what the server said.
        (error) => Promise.reject(failure ?? error),
      );
      if (call === undefined) throw new Error("No tool was called");
      return { name: call.toolName, input: call.input };
    },
    async schema() {
      const { output } = await generateText({
        ...ask,
        maxOutputTokens: 200,
        output: Output.object({ schema: jsonSchema(SCHEMA) }),
      });
      return output;
    },
    async abort() {
      const leaving = new AbortController();
      const answer = streamText({
        ...ask,
        maxOutputTokens: LONG,
        abortSignal: leaving.signal,
        onError: () => {},
      });
      let seen = 0;
      for await (const _text of answer.textStream) {
        if (++seen === 2) leaving.abort();
      }
      if (seen < 2) throw new Error("The stream ended before two pieces");
    },
  };
}
