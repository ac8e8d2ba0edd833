import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
import {
  type Client,
  EMBEDDED,
  LONG,
  PROMPT,
  SCHEMA,
  SHORT,
  TOOL,
} from "./client_case.ts";

/** LangChain's client of OpenAI's dialect. */
export const LANGCHAIN: Client = {
  name: "@langchain/openai 1.5.8",
  connect({ base, chatModel, embeddingModel }) {
    const configuration = { baseURL: `${base}/v1` };
    const chat = (maxTokens: number) =>
      new ChatOpenAI({
        model: chatModel,
        apiKey: "none",
        maxRetries: 0,
        maxTokens,
        configuration,
      });
    const embeddings = (format: { encodingFormat?: "float" } = {}) =>
      new OpenAIEmbeddings({
        model: embeddingModel,
        apiKey: "none",
        maxRetries: 0,
        ...format,
        configuration,
      });
    return {
      async chat() {
        return (await chat(SHORT).invoke(PROMPT)).text;
      },
      async stream() {
        const texts: string[] = [];
        for await (const chunk of await chat(SHORT).stream(PROMPT)) {
          if (chunk.text !== "") texts.push(chunk.text);
        }
        return texts;
      },
      async tools() {
        const model = chat(200).bindTools([{
          type: "function",
          function: {
            name: TOOL.name,
            description: TOOL.description,
            parameters: TOOL.schema,
          },
        }], { tool_choice: "required" });
        const [call] = (await model.invoke(PROMPT)).tool_calls ?? [];
        if (call === undefined) throw new Error("No tool was called");
        return { name: call.name, input: call.args };
      },
      schema() {
        return chat(200).withStructuredOutput(SCHEMA, {
          name: "verdict",
          method: "jsonSchema",
        }).invoke(PROMPT);
      },
      embedFloat: () =>
        embeddings({ encodingFormat: "float" }).embedQuery(EMBEDDED),
      // Told nothing, the client below asks for base64 and hands out numbers.
      embedBase64: () => embeddings().embedQuery(EMBEDDED),
      async abort() {
        const leaving = new AbortController();
        const chunks = await chat(LONG).stream(PROMPT, {
          signal: leaving.signal,
        });
        let seen = 0;
        try {
          for await (const _chunk of chunks) {
            if (++seen === 2) leaving.abort();
          }
        } catch (error) {
          if (!leaving.signal.aborted) throw error;
        }
      },
    };
  },
};
