import {
  type Attempt,
  attemptIdOf,
  type InferenceRequest,
  type NodeId,
  parseDecisionId,
  parseNodeId,
} from "../../src/domain/mod.ts";

/** A node id for tests. */
export function testNodeId(): NodeId {
  const id = parseNodeId("00000000-0000-4000-8000-000000000001");
  if (id === undefined) throw new Error("The test's node id is none");
  return id;
}

/** An attempt at a streamed chat of 100 prompt tokens, with what a test wants otherwise. */
export function buildAttempt(
  model: string,
  request: Partial<InferenceRequest> = {},
): Attempt {
  const decision = parseDecisionId("00000000-decision");
  if (decision === undefined) throw new Error("The test's decision id is none");
  return {
    id: attemptIdOf(decision, 1),
    entry: testNodeId(),
    dispatch: 1,
    model,
    expectedOutputTokens: 10,
    predictedMs: 1_000,
    request: {
      capability: "chat",
      model,
      source: { kind: "unsaid" },
      stream: true,
      includeUsage: false,
      body: { messages: [{ role: "user", content: "Hello" }] },
      promptTokens: 100,
      maxOutputTokens: 10,
      inputCount: 1,
      needs: [],
      conversation: null,
      client: "test",
      ...request,
    },
  };
}
