import OpenAI from "openai";
import {
  type Client,
  EMBEDDED,
  LONG,
  PROMPT,
  SCHEMA,
  SHORT,
  type Target,
  TOOL,
} from "./client_case.ts";

const tool = {
  type: "function" as const,
  function: {
    name: TOOL.name,
    description: TOOL.description,
    parameters: TOOL.schema,
  },
};

function connect({ base, chatModel: model, embeddingModel }: Target) {
  return {
    client: new OpenAI({
      baseURL: `${base}/v1`,
      apiKey: "none",
      maxRetries: 0,
    }),
    ask: {
      model,
      messages: [{ role: "user" as const, content: PROMPT }],
    },
    embedding: { model: embeddingModel, input: EMBEDDED },
  };
}

/** OpenAI's client on chat completions and embeddings. */
export const OPENAI_CHAT: Client = {
  name: "openai 6.49.0, chat",
  connect(target) {
    const { client, ask, embedding } = connect(target);
    const completions = client.chat.completions;
    return {
      async chat() {
        const answer = await completions.create({ ...ask, max_tokens: SHORT });
        return answer.choices[0]?.message.content ?? "";
      },
      async stream() {
        const texts: string[] = [];
        const chunks = await completions.create({
          ...ask,
          max_tokens: SHORT,
          stream: true,
          stream_options: { include_usage: true },
        });
        let used = false;
        for await (const chunk of chunks) {
          const text = chunk.choices[0]?.delta.content ?? "";
          if (text !== "") texts.push(text);
          used ||= (chunk.usage?.completion_tokens ?? 0) > 0;
        }
        if (!used) throw new Error("No usage came with the stream");
        return texts;
      },
      async tools() {
        const runner = completions.stream({
          ...ask,
          tools: [tool],
          tool_choice: "required",
          max_tokens: 200,
        });
        const { message } = (await runner.finalChatCompletion()).choices[0] ??
          {};
        const [call] = message?.tool_calls ?? [];
        if (call?.type !== "function") throw new Error("No tool was called");
        return {
          name: call.function.name,
          input: JSON.parse(call.function.arguments),
        };
      },
      async schema() {
        const answer = await completions.parse({
          ...ask,
          max_tokens: 200,
          response_format: {
            type: "json_schema",
            json_schema: { name: "verdict", schema: SCHEMA, strict: true },
          },
        });
        return JSON.parse(answer.choices[0]?.message.content ?? "");
      },
      async embedFloat() {
        const answer = await client.embeddings.create({
          ...embedding,
          encoding_format: "float",
        });
        return answer.data[0]?.embedding ?? [];
      },
      // What the client does when it is told nothing: asks for base64, hands out numbers.
      async embedBase64() {
        const answer = await client.embeddings.create(embedding);
        return answer.data[0]?.embedding ?? [];
      },
      async abort() {
        const chunks = await completions.create({
          ...ask,
          max_tokens: LONG,
          stream: true,
        });
        let seen = 0;
        for await (const _chunk of chunks) {
          if (++seen === 2) chunks.controller.abort();
        }
      },
    };
  },
};

/** OpenAI's client on responses. */
export const OPENAI_RESPONSES: Client = {
  name: "openai 6.49.0, responses",
  connect(target) {
    const { client, ask: { model } } = connect(target);
    const ask = { model, input: PROMPT, store: false };
    return {
      async chat() {
        const answer = await client.responses.create({
          ...ask,
          max_output_tokens: SHORT,
        });
        return answer.output_text;
      },
      async stream() {
        const texts: string[] = [];
        const stream = client.responses.stream({
          ...ask,
          max_output_tokens: SHORT,
        });
        for await (const event of stream) {
          if (event.type === "response.output_text.delta") {
            texts.push(event.delta);
          }
        }
        const last = await stream.finalResponse();
        if (last.output_text !== texts.join("")) {
          throw new Error("The deltas are not the final text");
        }
        return texts;
      },
      async tools() {
        const answer = await client.responses.stream({
          ...ask,
          max_output_tokens: 200,
          tool_choice: "required",
          tools: [{
            type: "function",
            name: TOOL.name,
            description: TOOL.description,
            parameters: TOOL.schema,
            strict: true,
          }],
        }).finalResponse();
        const call = answer.output.find((item) =>
          item.type === "function_call"
        );
        if (call?.type !== "function_call") {
          throw new Error("No tool was called");
        }
        return { name: call.name, input: JSON.parse(call.arguments) };
      },
      async schema() {
        const answer = await client.responses.parse({
          ...ask,
          max_output_tokens: 200,
          text: {
            format: {
              type: "json_schema",
              name: "verdict",
              schema: SCHEMA,
              strict: true,
            },
          },
        });
        return JSON.parse(answer.output_text);
      },
      async abort() {
        const stream = await client.responses.create({
          ...ask,
          max_output_tokens: LONG,
          stream: true,
        });
        let seen = 0;
        for await (const event of stream) {
          if (event.type !== "response.output_text.delta") continue;
          if (++seen === 2) stream.controller.abort();
        }
      },
    };
  },
};
