/**
 * An engine process without a model: keeps the contract of `covey engine` and
 * streams counted chunks, for tests of the node's side. The request's `chunks`
 * says how many; without it the answer never ends.
 */
import { parseArgs } from "node:util";

const { values } = parseArgs({
  args: Deno.args.slice(1),
  options: { socket: { type: "string" } },
  strict: false,
});
const path = String(values.socket);
const stdin = Deno.stdin.readable.pipeThrough(new TextDecoderStream())
  .getReader();
const token = (await stdin.read()).value?.trim();

const hang = new Promise<never>(() => {});

function say(event: Record<string, string | number>): void {
  Deno.stdout.writeSync(
    new TextEncoder().encode(`${JSON.stringify(event)}\n`),
  );
}

Deno.serve(
  { path, onListen: () => say({ event: "listening" }) },
  async (request) => {
    if (request.headers.get("authorization") !== `Bearer ${token}`) {
      return Response.json({ error: {} }, { status: 401 });
    }
    const { chunks = Infinity } = await request.json();
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (sent > 100) await hang;
        if (sent === chunks) controller.close();
        else {controller.enqueue(
            new TextEncoder().encode(`data: ${++sent}\n\n`),
          );}
      },
    });
    return new Response(body, {
      headers: { "content-type": "text/event-stream" },
    });
  },
);
say({ event: "ready", loadTimeMs: 1, contextLength: 64, slots: 1 });
// The parent holds our input open for as long as it lives.
while (!(await stdin.read()).done);
Deno.exit(0);
