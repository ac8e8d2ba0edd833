import {
  openAiAnswer,
  type RecordedCall,
  startUpstreamServer,
  type UpstreamServer,
} from "./upstream_server.ts";

/** A model of a fake Ollama. */
export interface FakeOllamaModel {
  readonly name: string;
  /** What `/api/show` says it does; absent as in old servers. */
  readonly capabilities?: readonly string[];
  readonly family?: string;
  readonly contextLength?: number;
  /** Whether `/api/ps` lists it. */
  readonly isLoaded?: boolean;
}

/** What a fake Ollama has unless told otherwise. */
export const OLLAMA_MODELS: readonly FakeOllamaModel[] = [
  {
    name: "mymodel:latest",
    capabilities: ["completion", "tools"],
    contextLength: 32_768,
    isLoaded: true,
  },
  { name: "big:70b", capabilities: ["completion"], contextLength: 8_192 },
  { name: "nomic:latest", capabilities: ["embedding"], contextLength: 2_048 },
];

/**
 * Start a server on loopback that answers like Ollama.
 *
 * @param models What it has.
 * @param port Where; any free one unless said.
 */
export function startFakeOllama(
  models: readonly FakeOllamaModel[] = OLLAMA_MODELS,
  port = 0,
): UpstreamServer {
  return startUpstreamServer((call) => {
    switch (call.path) {
      case "/":
        return new Response("Ollama is running");
      case "/api/version":
        return Response.json({ version: "0.13.5" });
      case "/api/tags":
        return Response.json({
          models: models.map((one) => ({
            name: one.name,
            model: one.name,
            size: 400_000_000,
            digest: `d-${one.name}`,
            details: { family: one.family ?? "llama" },
          })),
        });
      case "/api/ps":
        return Response.json({
          models: models.filter(({ isLoaded }) => isLoaded === true).map((
            { name },
          ) => ({ name, model: name, context_length: 4_096 })),
        });
      case "/api/show": {
        const model = models.find(({ name }) => name === call.body.model);
        return model === undefined ? undefined : Response.json({
          model_info: { "llama.context_length": model.contextLength },
          ...(model.capabilities === undefined
            ? {}
            : { capabilities: model.capabilities }),
        });
      }
      case "/api/chat":
      case "/api/generate":
      case "/api/embed":
        return ownAnswer(call);
      case "/v1/models":
        return Response.json({
          object: "list",
          data: models.map(({ name }) => ({ id: name, owned_by: "library" })),
        });
      default:
        return openAiAnswer(call);
    }
  }, port);
}

/** What Ollama's own routes answer: two words, a call where a tool is offered, vectors. */
function ownAnswer({ body, path }: RecordedCall): Response {
  if (path === "/api/embed") {
    const inputs = [body.input].flat();
    return Response.json({
      model: body.model,
      embeddings: inputs.map(() => [0.25, -1]),
      prompt_eval_count: 4,
    });
  }
  const said = (text: string) =>
    path === "/api/chat"
      ? { message: { role: "assistant", content: text }, done: false }
      : { response: text, done: false };
  const end = {
    ...said(""),
    done: true,
    done_reason: body.prompt === undefined && body.messages === undefined
      ? "load"
      : "stop",
    prompt_eval_count: 7,
    eval_count: 2,
  };
  if (body.stream === false) {
    return Response.json({ ...end, ...said("one two"), done: true });
  }
  const call = {
    message: {
      role: "assistant",
      content: "",
      tool_calls: [{ function: { name: "f", arguments: { city: "Bern" } } }],
    },
    done: false,
  };
  const lines = body.tools === undefined
    ? [said("one"), said(" two"), end]
    : [call, end];
  return new Response(
    lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
    { headers: { "content-type": "application/x-ndjson" } },
  );
}
