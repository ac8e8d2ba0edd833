import {
  openAiAnswer,
  startUpstreamServer,
  type UpstreamServer,
} from "./upstream_server.ts";

/**
 * Start a server on loopback that answers like vLLM.
 *
 * @param models Names of what it has.
 * @param port Where; any free one unless said.
 */
export function startFakeVllm(
  models: readonly string[] = ["qwen/qwen3-8b"],
  port = 0,
): UpstreamServer {
  return startUpstreamServer((call) => {
    switch (call.path) {
      case "/health":
        return new Response(null);
      case "/version":
        return Response.json({ version: "0.12.0" });
      case "/v1/models":
        return Response.json({
          object: "list",
          data: models.map((id) => ({
            id,
            object: "model",
            owned_by: "vllm",
            max_model_len: 40_960,
          })),
        });
      default:
        return openAiAnswer(call);
    }
  }, port);
}
