import type { Attempt, EngineAnswer, JsonObject } from "../../domain/mod.ts";
import type { Unloading } from "./loaded_models.ts";

/**
 * Answer a request that only wanted its model in memory.
 *
 * @param attempt The request.
 * @returns A complete answer that says nothing.
 */
export function emptyAnswer(
  { id, model, request }: Pick<Attempt, "id" | "model" | "request">,
): EngineAnswer {
  const head = { id, created: 0, model };
  const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  if (!request.stream) {
    const message = { role: "assistant", content: "" };
    return answer("application/json", [
      JSON.stringify({
        ...head,
        object: "chat.completion",
        choices: [{ index: 0, message, finish_reason: "stop" }],
        usage,
      }),
    ]);
  }
  const delta = { role: "assistant", content: "" };
  const chunk: JsonObject = {
    ...head,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: "stop" }],
    usage,
  };
  return answer("text/event-stream", [
    `data: ${JSON.stringify(chunk)}\n\n`,
    "data: [DONE]\n\n",
  ]);
}

/**
 * Answer a request that wanted its model out of memory.
 *
 * @param unloading What came of it.
 */
export function unloadAnswer(unloading: Unloading): EngineAnswer {
  return answer("application/json", [
    JSON.stringify(
      unloading.kind === "gone"
        ? { unloaded: true }
        : { unloaded: false, reason: unloading.reason },
    ),
  ]);
}

function answer(contentType: string, parts: readonly string[]): EngineAnswer {
  return {
    status: 200,
    contentType,
    retryAfter: null,
    body: new Blob([...parts]).stream(),
  };
}
