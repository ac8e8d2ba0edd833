/** A stand-in for llama-server that computes nothing and writes at a pace that may be changed at any time. */
export interface PacedEngine extends AsyncDisposable {
  /** Base address, without a slash at the end. */
  readonly url: string;
  /** Time per token from now on, also in answers that are under way. */
  tokenMs: number;
}

/** How to start one. */
export interface PacedEngineOptions {
  /** Name of its model. */
  readonly model: string;
  /** Time per token, in milliseconds. */
  readonly tokenMs: number;
  /** Time per token of a prompt, in milliseconds. */
  readonly promptTokenMs: number;
}

const encoder = new TextEncoder();
const BYTES_PER_TOKEN = 4;

/**
 * Serve chats on a port of the loopback, one at a time.
 *
 * @param options Model and pace.
 * @returns The engine. Disposing of it breaks off what runs.
 */
export function startPacedEngine(options: PacedEngineOptions): PacedEngine {
  const closing = new AbortController();
  let turn: Promise<void> = Promise.resolve();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const { pathname } = new URL(request.url);
      if (pathname === "/props") return Response.json(props());
      if (pathname === "/health") return Response.json({ status: "ok" });
      if (pathname === "/v1/models") return Response.json(models());
      if (pathname !== "/v1/chat/completions") {
        return new Response(null, { status: 404 });
      }
      const body = await request.json();
      const before = turn;
      const mine = Promise.withResolvers<void>();
      turn = before.then(() => mine.promise);
      const gone = AbortSignal.any([request.signal, closing.signal]);
      const events = write(body, before, gone, mine.resolve);
      return new Response(ReadableStream.from(events), {
        headers: { "content-type": "text/event-stream" },
      });
    },
  );
  const engine = {
    url: `http://127.0.0.1:${server.addr.port}`,
    tokenMs: options.tokenMs,
    async [Symbol.asyncDispose]() {
      closing.abort();
      await server.shutdown();
    },
  };
  return engine;

  function props() {
    return {
      total_slots: 1,
      default_generation_settings: { n_ctx: 8192 },
    };
  }

  function models() {
    return { object: "list", data: [{ id: options.model, object: "model" }] };
  }

  async function* write(
    body: { readonly max_tokens: number; readonly messages: unknown },
    before: Promise<void>,
    gone: AbortSignal,
    over: () => void,
  ): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    try {
      await before;
      yield event({ role: "assistant", content: "" }, null);
      const promptTokens = JSON.stringify(body.messages).length /
        BYTES_PER_TOKEN;
      await wait(promptTokens * options.promptTokenMs, gone);
      for (let n = 1; n <= body.max_tokens; n++) {
        await wait(engine.tokenMs, gone);
        yield event({ content: `w${n} ` }, null);
      }
      yield event({}, "length");
      yield encoder.encode("data: [DONE]\n\n");
    } finally {
      over();
    }
  }

  function event(
    delta: unknown,
    finish: string | null,
  ): Uint8Array<ArrayBuffer> {
    const chunk = {
      id: "chatcmpl-paced",
      object: "chat.completion.chunk",
      created: 1_700_000_000,
      model: options.model,
      choices: [{ index: 0, delta, finish_reason: finish }],
    };
    return encoder.encode(`data: ${JSON.stringify(chunk)}\n\n`);
  }
}

function wait(ms: number, gone: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (gone.aborted) return reject(gone.reason);
    const timer = setTimeout(() => {
      gone.removeEventListener("abort", onGone);
      resolve();
    }, ms);
    const onGone = () => {
      clearTimeout(timer);
      reject(gone.reason);
    };
    gone.addEventListener("abort", onGone, { once: true });
  });
}
