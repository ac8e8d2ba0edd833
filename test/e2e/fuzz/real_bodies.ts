import type { JsonObject } from "../../../src/domain/mod.ts";

/** Bodies as the official clients send them, shortened; the model is filled in. */
export const REAL_BODIES: Readonly<Record<string, readonly JsonObject[]>> = {
  "/v1/chat/completions": [
    {
      messages: [{ role: "user", content: "Say hello" }],
      max_tokens: 8,
      stream: true,
      stream_options: { include_usage: true },
    },
    {
      messages: [
        { role: "system", content: "You are terse." },
        {
          role: "user",
          content: [
            { type: "text", text: "What is this?" },
            {
              type: "image_url",
              image_url: { url: "data:image/png;base64,iVBORw0KGgo=" },
            },
          ],
        },
      ],
      max_completion_tokens: 8,
      temperature: 0,
      seed: 7,
    },
    {
      messages: [
        { role: "user", content: "Weather?" },
        {
          role: "assistant",
          content: null,
          tool_calls: [{
            id: "call_1",
            type: "function",
            function: { name: "weather", arguments: '{"city":"Bern"}' },
          }],
        },
        { role: "tool", tool_call_id: "call_1", content: "12 °C" },
      ],
      tools: [{
        type: "function",
        function: {
          name: "weather",
          parameters: {
            type: "object",
            properties: { city: { type: "string" } },
            required: ["city"],
          },
        },
      }],
      tool_choice: "auto",
      parallel_tool_calls: true,
      max_tokens: 8,
    },
    {
      messages: [{ role: "user", content: "JSON please" }],
      response_format: {
        type: "json_schema",
        json_schema: {
          name: "answer",
          strict: true,
          schema: {
            type: "object",
            properties: { ok: { type: "boolean" } },
            required: ["ok"],
            additionalProperties: false,
          },
        },
      },
      logprobs: true,
      top_logprobs: 2,
      max_tokens: 8,
      stop: ["END"],
    },
    {
      messages: [{ role: "user", content: "Say hello" }],
      max_tokens: 8,
      logit_bias: [[15_043, -100], [" no", false]],
      seed: 4_611_686_018_427_387_904,
    },
  ],
  "/v1/completions": [
    { prompt: "Once", max_tokens: 8, stream: true, logprobs: 1 },
    { prompt: ["a", "b"], max_tokens: 4, n: 1, echo: false },
  ],
  "/v1/embeddings": [
    { input: ["a", "b", "c"], encoding_format: "base64" },
    { input: "one text", dimensions: 8 },
    { input: [[1, 2, 3], [4, 5]] },
  ],
  "/v1/responses": [
    {
      input: "Say hello",
      instructions: "Be terse",
      stream: true,
      max_output_tokens: 16,
    },
    {
      input: [
        {
          role: "user",
          content: [{ type: "input_text", text: "Weather?" }],
        },
        {
          type: "function_call",
          call_id: "c1",
          name: "weather",
          arguments: "{}",
        },
        { type: "function_call_output", call_id: "c1", output: "12" },
      ],
      tools: [{
        type: "function",
        name: "weather",
        parameters: { type: "object", properties: {} },
        strict: false,
      }],
      store: false,
      reasoning: { effort: "low" },
      max_output_tokens: 16,
    },
    {
      input: [
        { type: "function_call", call_id: "c1", name: "see", arguments: "{}" },
        {
          type: "function_call_output",
          call_id: "c1",
          output: [
            { type: "input_text", text: "a picture" },
            {
              type: "input_image",
              image_url: "data:image/png;base64,iVBORw0KGgo=",
            },
          ],
        },
        { role: "user", content: "What is it?" },
      ],
      max_output_tokens: 16,
    },
  ],
  "/v1/messages": [
    {
      max_tokens: 8,
      stream: true,
      system: [{
        type: "text",
        text: "Terse.",
        cache_control: { type: "ephemeral" },
      }],
      messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }],
      metadata: { user_id: "u" },
    },
    {
      max_tokens: 8,
      messages: [
        { role: "user", content: "Weather?" },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "Hm", signature: "s" },
            { type: "tool_use", id: "t1", name: "weather", input: {} },
          ],
        },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "t1", content: "12" }],
        },
      ],
      tools: [{ name: "weather", input_schema: { type: "object" } }],
      tool_choice: { type: "auto" },
    },
    {
      max_tokens: 8,
      messages: [{ role: "user", content: "Hello" }],
      stop_sequences: ["END"],
      thinking: { type: "disabled" },
      output_config: { effort: "low" },
    },
  ],
  "/v1/messages/count_tokens": [
    { messages: [{ role: "user", content: "How long is this?" }] },
  ],
  "/v1/rerank": [
    { query: "tea", documents: ["milk", { text: "green tea" }], top_n: 1 },
  ],
  "/v1/audio/speech": [{ input: "Hello", voice: "alloy" }],
  "/api/chat": [
    {
      messages: [{ role: "user", content: "Hello", images: ["iVBORw0KGgo="] }],
      options: { num_predict: 4, stop: ["END"], num_ctx: 512 },
      keep_alive: "5m",
    },
    {
      messages: [{ role: "user", content: "Hello" }],
      stream: false,
      format: { type: "object", properties: { a: { type: "string" } } },
      options: { num_predict: 4 },
      think: false,
    },
  ],
  "/api/generate": [
    { prompt: "Hello", stream: false, options: { num_predict: 4 } },
    { prompt: "", keep_alive: 0 },
    { prompt: "def f(", suffix: "return 1", options: { num_predict: 4 } },
  ],
  "/api/embed": [{ input: ["a", "b"], truncate: true }, { input: "a" }],
  "/api/embeddings": [{ prompt: "a" }],
  "/api/show": [{}],
};
