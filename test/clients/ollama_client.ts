import { Ollama } from "ollama";
import {
  type Client,
  EMBEDDED,
  LONG,
  PROMPT,
  SCHEMA,
  SHORT,
  TOOL,
} from "./client_case.ts";

/** Ollama's client. */
export const OLLAMA: Client = {
  name: "ollama 0.6.4",
  connect({ base, chatModel: model, embeddingModel }) {
    const client = new Ollama({ host: base });
    const messages = [{ role: "user", content: PROMPT }];
    return {
      async chat() {
        const { models } = await client.list();
        if (!models.some((one) => one.name === model)) {
          throw new Error("The model is not listed");
        }
        await client.show({ model });
        const answer = await client.chat({
          model,
          messages,
          options: { num_predict: SHORT },
        });
        return answer.message.content;
      },
      async stream() {
        const texts: string[] = [];
        let ended = false;
        const parts = await client.generate({
          model,
          prompt: PROMPT,
          stream: true,
          options: { num_predict: SHORT },
        });
        for await (const part of parts) {
          texts.push(...[part.response ?? ""].filter((text) => text !== ""));
          ended ||= part.done && part.eval_count > 0;
        }
        if (!ended) throw new Error("No last line came");
        return texts;
      },
      async tools() {
        const ask = {
          model,
          messages: [
            ...messages,
            {
              role: "assistant",
              content: "",
              tool_calls: [{
                function: { name: TOOL.name, arguments: { on: true } },
              }],
            },
            { role: "tool", content: "done", tool_name: TOOL.name },
          ],
          tools: [{
            type: "function",
            function: {
              name: TOOL.name,
              description: TOOL.description,
              parameters: TOOL.schema,
            },
          }],
          // Ollama's dialect cannot demand a call, and random weights make none
          // unasked; Covey takes OpenAI's word for it here too.
          tool_choice: "required",
          options: { num_predict: 200 },
        };
        const answer = await client.chat(ask);
        const [call] = answer.message.tool_calls ?? [];
        if (call === undefined) throw new Error("No tool was called");
        return { name: call.function.name, input: call.function.arguments };
      },
      async schema() {
        const answer = await client.chat({
          model,
          messages,
          format: SCHEMA,
          options: { num_predict: 200 },
        });
        return JSON.parse(answer.message.content);
      },
      async embedFloat() {
        const answer = await client.embed({
          model: embeddingModel,
          input: EMBEDDED,
        });
        return answer.embeddings[0] ?? [];
      },
      async abort() {
        const parts = await client.chat({
          model,
          messages,
          stream: true,
          options: { num_predict: LONG },
        });
        let seen = 0;
        try {
          for await (const _part of parts) {
            if (++seen === 2) parts.abort();
          }
        } catch (error) {
          if (!(error instanceof Error && error.name === "AbortError")) {
            throw error;
          }
        }
      },
    };
  },
};
