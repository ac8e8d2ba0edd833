/**
 * An OpenAI server that computes nothing, as fast as one can be: what there is
 * to compare with, and what stands behind each gateway of a comparison. Says
 * of itself what llama.cpp's server does, so that many requests may run side by
 * side. Takes the time between two tokens in milliseconds, how many requests may
 * run at once, where it listens and how long an answer takes that is no stream,
 * in milliseconds; prints its address.
 *
 * @module
 */
const gapMs = Number(Deno.args[0] ?? "0");
const slots = Number(Deno.args[1] ?? "1024");
const hostname = Deno.args[2] ?? "127.0.0.1";
const wholeMs = Number(Deno.args[3] ?? "0");
const encoder = new TextEncoder();
const EVENT_STREAM = { headers: { "content-type": "text/event-stream" } };

const HEAD = {
  id: "chatcmpl-fast",
  created: 1_700_000_000,
  model: "fast",
};

function event(delta: unknown, finish: string | null): Uint8Array<ArrayBuffer> {
  const chunk = {
    ...HEAD,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: finish }],
  };
  return encoder.encode(`data: ${JSON.stringify(chunk)}\n\n`);
}

const ROLE = event({ role: "assistant", content: "" }, null);
const TOKEN = event({ content: "word " }, null);
const LAST = event({}, "stop");
const DONE = encoder.encode("data: [DONE]\n\n");

function usage(tokens: number) {
  return {
    prompt_tokens: 8,
    completion_tokens: tokens,
    total_tokens: 8 + tokens,
  };
}

function whole(tokens: number): Response {
  return Response.json({
    ...HEAD,
    object: "chat.completion",
    choices: [{
      index: 0,
      message: { role: "assistant", content: "word ".repeat(tokens) },
      finish_reason: "stop",
    }],
    usage: usage(tokens),
  });
}

function stream(tokens: number, withUsage: boolean): Response {
  let left = tokens;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      controller.enqueue(ROLE);
      const say = () => {
        for (; left > 0; left--) {
          controller.enqueue(TOKEN);
          if (gapMs === 0) continue;
          left--;
          timer = setTimeout(say, gapMs);
          return;
        }
        controller.enqueue(LAST);
        if (withUsage) {
          const chunk = {
            ...HEAD,
            object: "chat.completion.chunk",
            choices: [],
            usage: usage(tokens),
          };
          controller.enqueue(
            encoder.encode(`data: ${JSON.stringify(chunk)}\n\n`),
          );
        }
        controller.enqueue(DONE);
        controller.close();
      };
      say();
    },
    cancel: () => clearTimeout(timer),
  });
  return new Response(body, EVENT_STREAM);
}

async function chat(request: Request): Promise<Response> {
  const body = await request.json();
  const tokens = body.max_tokens ?? 16;
  if (body.stream === true) {
    return stream(tokens, body.stream_options?.include_usage === true);
  }
  if (wholeMs > 0) {
    await new Promise((resolve) => setTimeout(resolve, wholeMs));
  }
  return whole(tokens);
}

Deno.serve({
  hostname,
  port: 0,
  automaticCompression: false,
  onListen: ({ port }) =>
    Deno.stdout.writeSync(encoder.encode(`http://${hostname}:${port}\n`)),
}, (request) => {
  const { pathname } = new URL(request.url);
  switch (pathname) {
    case "/v1/chat/completions":
      return chat(request);
    case "/v1/models":
      return Response.json({
        object: "list",
        data: [{ id: HEAD.model, object: "model", owned_by: "llamacpp" }],
      });
    case "/props":
      return Response.json({
        total_slots: slots,
        default_generation_settings: { n_ctx: 32_768 },
      });
    default:
      return new Response(null, { status: 404 });
  }
});
