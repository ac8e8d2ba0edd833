/**
 * What it costs a node to ask an engine next to it: the runtime's `fetch`,
 * `node:http` with a keep-alive agent, undici where it is named, and Covey's
 * plain client ask the same fast engine in turn. Latency of whole answers one
 * after the other; processor time of an answer with 32 side by side, and of an
 * event with 50 streams side by side. Linux.
 *
 * Run: deno task bench:transports [--requests N] [--undici npm:undici@7.30.2]
 *
 * @module
 */
import { Agent, request } from "node:http";
import { parseArgs } from "node:util";
import { createPlainClient } from "../../src/engines/plain_http/plain_client.ts";
import { dialTcp } from "../../src/engines/plain_http/socket.ts";
import { createSystemClock } from "../../src/platform/mod.ts";
import { cpuMs } from "../lab/process_cost.ts";
import { startFastEngine } from "../lab/start_fast_engine.ts";

/** Asks for an answer and reads it; resolves with its size in bytes. */
type Ask = (body: string) => Promise<number>;

/** What is used of undici. */
interface Undici {
  readonly Pool: new (url: string) => {
    request(options: {
      readonly method: "POST";
      readonly path: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
    }): Promise<{ readonly body: AsyncIterable<Uint8Array> }>;
    destroy(): Promise<void>;
  };
}

const PATH = "/v1/chat/completions";
const HEADERS = { "content-type": "application/json" };
const TOKENS = 128;
/** The engine sends four events besides its tokens. */
const EVENTS = TOKENS + 4;
const GAP_MS = 5;
const STREAMS = 50;
const SIDE_BY_SIDE = 32;
const LEAST_BYTES = 100;

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "10000" },
    undici: { type: "string" },
  },
});
const requests = Number(values.requests);

await using stack = new AsyncDisposableStack();
const engine = stack.use(await startFastEngine(GAP_MS));
const url = engine.said;
const transports: readonly (readonly [string, Ask])[] = [
  ["plain client", plainAsk()],
  ["fetch", fetchAsk()],
  ["node:http", nodeAsk()],
  ...values.undici === undefined
    ? []
    : [["undici", await undiciAsk(values.undici)] as const],
];

const rows = [];
for (const [transport, ask] of transports) {
  const whole = bodyOf(16, false);
  // What is compiled on the way is none of its cost.
  await many(ask, whole, requests, SIDE_BY_SIDE);
  const alone = await many(ask, whole, requests, 1);
  const answers = await many(ask, whole, requests, SIDE_BY_SIDE);
  const streams = await many(ask, bodyOf(TOKENS, true), 4 * STREAMS, STREAMS);
  rows.push({
    transport,
    "P50 ms": Number(alone.p50Ms.toFixed(3)),
    "CPU us/answer alone": Math.round(alone.cpuUs),
    "CPU us/answer of 32": Math.round(answers.cpuUs),
    "CPU us/event": Number((streams.cpuUs / EVENTS).toFixed(1)),
  });
}
// deno-lint-ignore no-console
console.table(rows);

async function many(
  ask: Ask,
  body: string,
  count: number,
  sideBySide: number,
): Promise<{ readonly p50Ms: number; readonly cpuUs: number }> {
  const tookMs: number[] = [];
  const beforeMs = await cpuMs([Deno.pid]);
  await Promise.all(Array.from({ length: sideBySide }, async () => {
    while (tookMs.length + sideBySide <= count) {
      const startedMs = performance.now();
      if (await ask(body) < LEAST_BYTES) throw new Error("An answer is short");
      tookMs.push(performance.now() - startedMs);
    }
  }));
  const cpuUs = (await cpuMs([Deno.pid]) - beforeMs) / tookMs.length * 1000;
  tookMs.sort((a, b) => a - b);
  return { p50Ms: tookMs[tookMs.length >> 1] ?? NaN, cpuUs };
}

function bodyOf(tokens: number, stream: boolean): string {
  return JSON.stringify({
    model: "fast",
    messages: [{ role: "user", content: "Say a few words about the sea" }],
    max_tokens: tokens,
    stream,
  });
}

function plainAsk(): Ask {
  const { host, hostname, port } = new URL(url);
  const client = stack.use(createPlainClient({
    dial: dialTcp(hostname, Number(port)),
    host,
    clock: createSystemClock(),
  }));
  const never = new AbortController().signal;
  return async (body) => {
    const reply = await client.post(
      { path: PATH, headers: HEADERS, body },
      never,
    );
    let bytes = 0;
    for (;;) {
      const piece = await reply.body.read();
      if (piece === undefined) return bytes;
      bytes += piece.length;
    }
  };
}

function fetchAsk(): Ask {
  const client = stack.use(Deno.createHttpClient({}));
  return async (body) => {
    const response = await fetch(url + PATH, {
      method: "POST",
      headers: HEADERS,
      body,
      client,
    });
    let bytes = 0;
    for await (const piece of response.body ?? []) bytes += piece.length;
    return bytes;
  };
}

function nodeAsk(): Ask {
  const agent = new Agent({ keepAlive: true });
  stack.defer(() => agent.destroy());
  const { hostname, port } = new URL(url);
  return (body) =>
    new Promise((resolve, reject) => {
      const headers = { ...HEADERS, "content-length": body.length };
      request(
        { hostname, port, path: PATH, method: "POST", agent, headers },
        (response) => {
          let bytes = 0;
          response.on("data", ({ length }) => bytes += length);
          response.on("end", () => resolve(bytes));
          response.on("error", reject);
        },
      ).on("error", reject).end(body);
    });
}

async function undiciAsk(specifier: string): Promise<Ask> {
  const { Pool }: Undici = await import(specifier);
  const pool = new Pool(url);
  stack.defer(() => pool.destroy());
  return async (body) => {
    const answer = await pool.request({
      method: "POST",
      path: PATH,
      headers: HEADERS,
      body,
    });
    let bytes = 0;
    for await (const { length } of answer.body) bytes += length;
    return bytes;
  };
}
