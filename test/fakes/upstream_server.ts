/** A request that a fake server got. */
export interface RecordedCall {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed body, or null where there was none. */
  // deno-lint-ignore no-explicit-any
  readonly body: any;
}

/** A real HTTP server on loopback that plays an upstream and remembers what it was asked. */
export interface UpstreamServer extends AsyncDisposable {
  /** For example `http://127.0.0.1:40123`. */
  readonly url: string;
  readonly port: number;
  readonly calls: readonly RecordedCall[];
  /** Calls of one path. */
  callsOf(path: string): readonly RecordedCall[];
}

/**
 * Start a fake server.
 *
 * @param answer What it answers; undefined for 404.
 * @param port Where; any free one unless said.
 */
export function startUpstreamServer(
  answer: (
    call: RecordedCall,
    request: Request,
  ) => Response | Promise<Response> | undefined,
  port = 0,
): UpstreamServer {
  const calls: RecordedCall[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port, onListen() {}, onError: failed },
    async (request) => {
      const text = await request.text();
      const call: RecordedCall = {
        method: request.method,
        path: new URL(request.url).pathname,
        headers: Object.fromEntries(request.headers),
        body: text === "" ? null : JSON.parse(text),
      };
      calls.push(call);
      return await answer(call, request) ??
        new Response("404 page not found", { status: 404 });
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    port: server.addr.port,
    calls,
    callsOf: (path) => calls.filter((call) => call.path === path),
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

function failed(error: unknown): Response {
  return new Response(String(error), { status: 500 });
}

/**
 * What an OpenAI route of a fake server answers: two words, or the smallest
 * value of a schema; a call where a tool is offered and the last message is no
 * tool's answer, or one is demanded; words without end where very many may come; floats alone.
 *
 * @param call The call.
 * @returns undefined for a route that it does not have.
 */
export function openAiAnswer(call: RecordedCall): Response | undefined {
  const { body, path } = call;
  switch (path) {
    case "/v1/chat/completions":
      return body.stream === true ? chatStream(body) : chatWhole(body);
    case "/v1/completions":
      return Response.json({
        id: "cmpl-1",
        object: "text_completion",
        created: 1,
        model: body.model,
        choices: [{ index: 0, text: "one two", finish_reason: "stop" }],
        usage: USAGE,
      });
    case "/v1/embeddings":
      return embeddings(body);
    case "/v1/rerank":
      return ranking(body);
    default:
      return undefined;
  }
}

const USAGE = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 };
/** An answer of more tokens takes its time, so that a caller can leave it. */
const LONG_ANSWER = 1_000;
const LONG_PIECE_MS = 10;
const DIMENSIONS = [0.25, -1, 0, 0.5, 2, -0.125, 8];

/** The smallest value that a schema allows. */
// deno-lint-ignore no-explicit-any
function valueOf(schema: any): unknown {
  if (Array.isArray(schema?.enum)) return schema.enum[0];
  switch (schema?.type) {
    case "object":
      return Object.fromEntries(
        Object.entries(schema.properties ?? {}).map((
          [name, inner],
        ) => [name, valueOf(inner)]),
      );
    case "array":
      return [];
    case "boolean":
      return true;
    case "integer":
    case "number":
      return 1;
    default:
      return "text";
  }
}

// deno-lint-ignore no-explicit-any
function toolCallFor(body: any): readonly unknown[] | null {
  const tool = body.tools?.[0]?.function;
  const isAnswered = body.tool_choice !== "required" &&
    body.messages?.at(-1)?.role === "tool";
  return tool === undefined || isAnswered ? null : [{
    index: 0,
    id: "call_1",
    type: "function",
    function: {
      name: tool.name,
      arguments: JSON.stringify(valueOf(tool.parameters)),
    },
  }];
}

// deno-lint-ignore no-explicit-any
function textFor(body: any): string {
  const schema = body.response_format?.json_schema?.schema;
  return schema === undefined ? "one two" : JSON.stringify(valueOf(schema));
}

// deno-lint-ignore no-explicit-any
function chatWhole(body: any): Response {
  const calls = toolCallFor(body);
  const message = calls === null
    ? { role: "assistant", content: textFor(body) }
    : { role: "assistant", content: null, tool_calls: calls };
  return Response.json({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: body.model,
    choices: [{
      index: 0,
      message,
      finish_reason: calls === null ? "stop" : "tool_calls",
    }],
    usage: USAGE,
  });
}

// deno-lint-ignore no-explicit-any
function chatStream(body: any): Response {
  const calls = toolCallFor(body);
  const chunk = (delta: unknown, reason: string | null = null) => ({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: body.model,
    choices: [{ index: 0, delta, finish_reason: reason }],
  });
  const line = (json: unknown) => `data: ${JSON.stringify(json)}\n\n`;
  const first = line(chunk({ role: "assistant", content: "" }));
  const most = body.max_completion_tokens ?? body.max_tokens ?? 0;
  const headers = { "content-type": "text/event-stream" };
  if (most > LONG_ANSWER) {
    return new Response(endless(first, line(chunk({ content: "on " }))), {
      headers,
    });
  }
  const events = [
    ...(calls === null
      ? textFor(body).split(/(?= )/).map((content) => chunk({ content }))
      : [chunk({ tool_calls: calls })]),
    chunk({}, calls === null ? "stop" : "tool_calls"),
    ...(body.stream_options?.include_usage === true
      ? [{ ...chunk({}), choices: [], usage: USAGE }]
      : []),
  ];
  const text = [first, ...events.map(line), "data: [DONE]\n\n"].join("");
  return new Response(text, { headers });
}

/** A stream that goes on until its reader leaves. */
function endless(first: string, again: string): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let timer: ReturnType<typeof setInterval> | undefined;
  return new ReadableStream({
    start(controller) {
      controller.enqueue(encoder.encode(first));
      timer = setInterval(
        () => controller.enqueue(encoder.encode(again)),
        LONG_PIECE_MS,
      );
    },
    cancel: () => clearInterval(timer),
  });
}

/** Scores a document by the query's words in it, the best first, with the document as vLLM has it. */
// deno-lint-ignore no-explicit-any
function ranking(body: any): Response {
  const words: string[] = body.query.split(" ");
  const results = body.documents.map((text: string, index: number) => ({
    index,
    document: { text },
    relevance_score: words.filter((word) => text.split(" ").includes(word))
      .length / words.length,
  }));
  return Response.json({
    id: "rerank-1",
    model: body.model,
    // deno-lint-ignore no-explicit-any
    results: results.sort((a: any, b: any) =>
      b.relevance_score - a.relevance_score
    ),
    usage: { prompt_tokens: 20, total_tokens: 20 },
  });
}

// deno-lint-ignore no-explicit-any
function embeddings(body: any): Response {
  const inputs = Array.isArray(body.input) ? body.input : [body.input];
  return Response.json({
    object: "list",
    model: body.model,
    data: inputs.map((_: unknown, index: number) => ({
      object: "embedding",
      index,
      embedding: [index + 0.5, ...DIMENSIONS],
    })),
    usage: { prompt_tokens: inputs.length, total_tokens: inputs.length },
  });
}
