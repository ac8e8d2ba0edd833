import Anthropic from "@anthropic-ai/sdk";
import {
  type Client,
  LONG,
  PROMPT,
  SCHEMA,
  SHORT,
  TOOL,
} from "./client_case.ts";

/** Anthropic's client. */
export const ANTHROPIC: Client = {
  name: "@anthropic-ai/sdk 1.14.0",
  connect({ base, chatModel: model }) {
    const client = new Anthropic({
      baseURL: base,
      apiKey: "none",
      maxRetries: 0,
    });
    const ask = {
      model,
      messages: [{ role: "user" as const, content: PROMPT }],
    };
    const textOf = ({ content }: Anthropic.Message) =>
      content.map((block) => block.type === "text" ? block.text : "").join("");
    return {
      async chat() {
        const { input_tokens: counted } = await client.messages.countTokens(
          ask,
        );
        if (counted < 1) throw new Error("No tokens were counted");
        return textOf(
          await client.messages.create({ ...ask, max_tokens: SHORT }),
        );
      },
      async stream() {
        const texts: string[] = [];
        const stream = client.messages.stream({ ...ask, max_tokens: SHORT })
          .on("text", (text) => {
            texts.push(text);
          });
        const message = await stream.finalMessage();
        if (textOf(message) !== texts.join("")) {
          throw new Error("The deltas are not the final text");
        }
        if (message.usage.output_tokens < 1) throw new Error("No usage came");
        return texts;
      },
      async tools() {
        const message = await client.messages.stream({
          ...ask,
          max_tokens: 200,
          tool_choice: { type: "any" },
          tools: [{
            name: TOOL.name,
            description: TOOL.description,
            input_schema: TOOL.schema,
          }],
        }).finalMessage();
        const call = message.content.find(({ type }) => type === "tool_use");
        if (call?.type !== "tool_use") throw new Error("No tool was called");
        return { name: call.name, input: call.input };
      },
      async schema() {
        const message = await client.messages.create({
          ...ask,
          max_tokens: 200,
          output_config: { format: { type: "json_schema", schema: SCHEMA } },
        });
        return JSON.parse(textOf(message));
      },
      async abort() {
        const stream = await client.messages.create({
          ...ask,
          max_tokens: LONG,
          stream: true,
        });
        let seen = 0;
        for await (const event of stream) {
          if (event.type !== "content_block_delta") continue;
          if (++seen === 2) stream.controller.abort();
        }
      },
    };
  },
};
