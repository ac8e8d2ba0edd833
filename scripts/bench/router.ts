/**
 * What the router itself costs: a whole request, and each token of a stream,
 * through an engine that computes nothing and answers at once, less what the
 * same answers cost without a router between. Processor time of this process,
 * collector and compiler and all, so that other programs disturb it little.
 * Figure to reach: 100 µs a request.
 *
 * Run: deno task bench:router [--rounds N]
 *
 * @module
 */
import process from "node:process";
import { parseArgs } from "node:util";
import {
  type Attempt,
  type Engine,
  type EngineAnswer,
  type EngineView,
  type InferenceRequest,
  type NodeId,
  type Offer,
  parseNodeId,
  type PieceSource,
  SourcedAnswer,
  sourceOf,
} from "../../src/domain/mod.ts";
import { createLog } from "../../src/observe/log.ts";
import { createMetrics } from "../../src/observe/metrics.ts";
import {
  createSystemClock,
  createSystemEntropy,
} from "../../src/platform/mod.ts";
import { createRouter } from "../../src/router/mod.ts";

const MOST_US = 100;
const SIDE_BY_SIDE = 32;
const REQUESTS = 20_000;
const STREAMS = 50;
const TOKENS = 200;
const STREAM_ROUNDS = 5;
const WARM_UPS = 2;

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "3" } },
});
const rounds = Number(values.rounds);
const encoder = new TextEncoder();
const never = new AbortController().signal;

function text(json: unknown): Uint8Array {
  return encoder.encode(JSON.stringify(json));
}

const HEAD = { id: "chatcmpl-1", created: 1_700_000_000, model: "fast" };
const WHOLE = text({
  ...HEAD,
  object: "chat.completion",
  choices: [{
    index: 0,
    message: { role: "assistant", content: "word ".repeat(16) },
    finish_reason: "stop",
  }],
  usage: { prompt_tokens: 8, completion_tokens: 16, total_tokens: 24 },
});

function event(delta: unknown, finish: string | null): Uint8Array {
  const chunk = {
    ...HEAD,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: finish }],
  };
  return encoder.encode(`data: ${JSON.stringify(chunk)}\n\n`);
}

const TOKEN = event({ content: "word " }, null);
const LAST = event({}, "stop");
const DONE = encoder.encode("data: [DONE]\n\n");

const SELF = selfId();

function selfId(): NodeId {
  const id = parseNodeId("00000000-0000-4000-8000-000000000001");
  if (id === undefined) throw new RangeError("No node id");
  return id;
}

/** Says a token of every stream in each turn of the event loop. */
class Sayer {
  readonly #saying = new Map<SaidSource, number>();

  stream(): PieceSource {
    const said = new SaidSource();
    this.#saying.set(said, TOKENS);
    if (this.#saying.size === 1) setTimeout(() => this.#say(), 0);
    return said;
  }

  #say(): void {
    for (const [said, left] of this.#saying) {
      this.#saying.set(said, left - 1);
      if (left > 0) said.say(TOKEN.slice());
      else {
        said.say(LAST);
        said.say(DONE);
        said.say(undefined);
        this.#saying.delete(said);
      }
    }
    if (this.#saying.size > 0) setTimeout(() => this.#say(), 0);
  }
}

/** Pieces as they are said; undefined is the end. */
class SaidSource implements PieceSource {
  readonly #said: (Uint8Array | undefined)[] = [];
  #heard: ((piece: Uint8Array | undefined) => void) | null = null;

  say(piece: Uint8Array | undefined): void {
    if (this.#heard === null) this.#said.push(piece);
    else {
      const heard = this.#heard;
      this.#heard = null;
      heard(piece);
    }
  }

  read(): Promise<Uint8Array | undefined> {
    if (this.#said.length > 0) return Promise.resolve(this.#said.shift());
    return new Promise((resolve) => this.#heard = resolve);
  }

  cancel(): Promise<void> {
    return Promise.resolve();
  }
}

const OFFER: Offer = {
  model: "fast",
  root: null,
  capabilities: ["chat"],
  features: [],
  contextLength: 32_768,
  sizeBytes: null,
  state: { kind: "warm", loadTimeMs: null },
  device: "cpu",
  queue: { slots: 64, runningMs: [], waitingMs: [] },
  rates: {
    prefillTokensPerSecond: 1000,
    tpotMs: Array.from({ length: 64 }, (_, at) => 10 + at),
    loadTimeMs: 1000,
    observations: 0,
    typicalError: 0.5,
    expectedOutputTokens: 200,
  },
};

class FreeEngine implements Engine {
  readonly node = SELF;
  readonly nodeName = "bench";
  readonly id = "free";
  readonly #sayer = new Sayer();
  readonly #view: EngineView = {
    availability: { kind: "available" },
    hop: { medianMs: 0, jitterMs: 0 },
    offers: [OFFER],
    dispatchesSeen: Infinity,
  };

  view(): EngineView {
    return this.#view;
  }

  start({ request }: Attempt) {
    return Promise.resolve({
      kind: "accepted" as const,
      queue: OFFER.queue,
      answer: () => Promise.resolve(this.answer(request)),
    });
  }

  answer({ stream }: InferenceRequest): EngineAnswer {
    const contentType = stream ? "text/event-stream" : "application/json";
    return new SourcedAnswer(
      { status: 200, contentType, retryAfter: null },
      stream ? this.#sayer.stream() : wholeSource(),
    );
  }
}

function wholeSource(): PieceSource {
  const said = new SaidSource();
  said.say(WHOLE.slice());
  said.say(undefined);
  return said;
}

function requestFor(n: number, stream: boolean): InferenceRequest {
  return {
    capability: "chat",
    model: "fast",
    source: { kind: "unsaid" },
    stream,
    includeUsage: false,
    body: {
      model: "fast",
      messages: [{
        role: "user",
        content: `Say a few words about the sea, number ${n % 500}`,
      }],
      max_tokens: stream ? TOKENS : 16,
      stream,
    },
    promptTokens: 8,
    maxOutputTokens: stream ? TOKENS : 16,
    inputCount: 1,
    needs: [],
    conversation: null,
    client: "",
  };
}

/** Read what is not here yet. */
async function readAll({ body, pieces, source }: Asked): Promise<void> {
  if (pieces !== undefined) return;
  // A stream costs a promise or two for each piece, and who has a source needs none.
  const bytes = source ?? sourceOf(body);
  while (await bytes.read() !== undefined);
}

/** Microseconds of processor time, for each of so many. */
async function cpuUs(count: number, run: () => Promise<void>) {
  const from = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(from);
  return (user + system) / count;
}

type Asked = Pick<EngineAnswer, "body" | "source"> & {
  readonly pieces?: readonly Uint8Array[];
};
type Ask = (request: InferenceRequest) => Promise<Asked>;

async function whole(ask: Ask): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < REQUESTS) {
      await readAll(await ask(requestFor(next++, false)));
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, lane));
}

async function streams(ask: Ask): Promise<void> {
  for (let round = 0; round < STREAM_ROUNDS; round++) {
    await Promise.all(Array.from({ length: STREAMS }, async (_, n) => {
      await readAll(await ask(requestFor(n, true)));
    }));
  }
}

const engine = new FreeEngine();
const log = createLog({
  level: "warn",
  format: "text",
  now: () => Date.now(),
  write: () => {},
});
await using router = createRouter({
  self: { id: SELF, name: "bench" },
  localEngines: [engine],
  peers: () => [],
  policy: "balanced",
  maxQueue: 1000,
  clock: createSystemClock(),
  entropy: createSystemEntropy(),
  log,
  metrics: createMetrics({
    version: "bench",
    log,
    residentBytes: () => 0,
    startedAtSeconds: 0,
  }),
});
const bare: Ask = (request) => Promise.resolve(engine.answer(request));
const routed: Ask = (request) => router.route(request, never);

const figures: { requestUs: number; tokenUs: number }[] = [];
for (let round = -WARM_UPS; round < rounds; round++) {
  const requestUs = await cpuUs(REQUESTS, () => whole(routed)) -
    await cpuUs(REQUESTS, () => whole(bare));
  const tokens = STREAM_ROUNDS * STREAMS * TOKENS;
  const tokenUs = await cpuUs(tokens, () => streams(routed)) -
    await cpuUs(tokens, () => streams(bare));
  if (round >= 0) figures.push({ requestUs, tokenUs });
}
const middle = (of: (one: typeof figures[number]) => number) =>
  figures.map(of).toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? NaN;
const requestUs = middle((one) => one.requestUs);
const tokenUs = middle((one) => one.tokenUs);
// deno-lint-ignore no-console
console.log(
  `${requestUs.toFixed(1)} us a request, ${tokenUs.toFixed(2)} us a token`,
);
// deno-lint-ignore no-console
console.log(JSON.stringify({
  bench: "router",
  requestUs,
  tokenUs,
  reached: requestUs <= MOST_US,
}));
