import type { InferenceRequest } from "../../src/domain/mod.ts";

/** A short streamed chat request, for tests. */
export function chatRequest(
  part: Partial<InferenceRequest> = {},
): InferenceRequest {
  return {
    capability: "chat",
    model: "m",
    source: { kind: "unsaid" },
    stream: true,
    includeUsage: false,
    body: { messages: [{ role: "user", content: "hello" }] },
    promptTokens: 10,
    maxOutputTokens: 100,
    inputCount: 1,
    needs: [],
    conversation: null,
    client: "test",
    ...part,
  };
}
