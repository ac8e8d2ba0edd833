import { join } from "node:path";
import { eventually } from "../../scripts/lab/eventually.ts";
import { membersSeen } from "../../scripts/lab/members.ts";
import { newSecret } from "../../scripts/lab/new_secret.ts";
import { type NodeProcess, startNode } from "../../scripts/lab/node_process.ts";
import { chunk, DONE, USAGE } from "../api/dialect/streams.ts";
import {
  type RawConnection,
  type RawUpstream,
  startRawUpstream,
} from "../fakes/raw_upstream.ts";

/** Cases from the field on the way client → anna → link → ben → a server whose bytes are the test's. */
export const PATHS = [
  "/v1/chat/completions",
  "/v1/messages",
  "/api/chat",
] as const;
export type Path = typeof PATHS[number];

const HEAD =
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
const CHUNKED =
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
/** Characters of three, four and two bytes. */
export const TEXT = "北🌍é";
const WIDE = chunk({ role: "assistant", content: "" }) +
  chunk({ content: TEXT }) + chunk({}, "stop") + USAGE + DONE;
const THREE = ["a", "b", "c"].map((content) => chunk({ content })).join("");

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** What a server does, by the model that it is asked for. */
const SCRIPTS: Readonly<
  Record<string, (connection: RawConnection) => Promise<void>>
> = {
  async cuts({ write, end }) {
    const bytes = new TextEncoder().encode(WIDE);
    await write(HEAD);
    let from = 0;
    // Behind E5, behind F0 9F, behind C3.
    for (const [mark, length] of [["北", 1], ["🌍", 2], ["é", 1]] as const) {
      const place = new TextEncoder()
        .encode(WIDE.slice(0, WIDE.indexOf(mark))).length + length;
      await write(bytes.subarray(from, place));
      from = place;
      await pause(50);
    }
    await write(bytes.subarray(from));
    end();
  },
  async bytes({ write, end }) {
    await write(HEAD);
    for (const byte of new TextEncoder().encode(WIDE)) {
      await write(Uint8Array.of(byte));
    }
    end();
  },
  async comments({ write, end }) {
    const processing = ": OPENROUTER PROCESSING\n\n";
    await write(HEAD + processing + processing + ":\n\n");
    for (const event of [...THREE.split(/(?<=\n\n)/), chunk({}, "stop")]) {
      await write(`${event}:\n\n${processing}`);
    }
    await write(DONE);
    end();
  },
  async fin({ write, end }) {
    await write(HEAD + THREE);
    end();
  },
  async rst({ write, reset }) {
    await write(HEAD + THREE);
    await pause(50);
    reset();
  },
  async cut({ write, end }) {
    const size = new TextEncoder().encode(THREE).length.toString(16);
    await write(`${CHUNKED}${size}\r\n${THREE}\r\n40\r\ndata: {`);
    end();
  },
  async endless({ write, closed }) {
    await write(HEAD);
    let isOver = false;
    closed.then(() => {
      isOver = true;
    });
    while (!isOver) {
      await write(chunk({ content: "on " }));
      await pause(20);
    }
  },
  silent: ({ closed }) => closed,
  /** Sends an event, and no other until the client has it. */
  async gated({ write, end }) {
    await write(HEAD + chunk({ content: "first" }));
    await gate.promise;
    await write(chunk({ content: "last" }) + chunk({}, "stop") + DONE);
    end();
  },
  ranker: ({ write, end, call }) =>
    sendJson({ write, end }, {
      results: JSON.parse(call.body.toString()).documents.map((
        text: string,
        index: number,
      ) => ({ index, relevance_score: text.length / 100 })),
      usage: { prompt_tokens: 3, total_tokens: 3 },
    }),
  e: ({ write, end }) =>
    sendJson({ write, end }, {
      data: [{ index: 0, embedding: [0.5, 0.25] }],
      usage: { prompt_tokens: 1, total_tokens: 1 },
    }),
  echo: ({ write, end }) =>
    sendJson({ write, end }, {
      choices: [{
        index: 0,
        message: { role: "assistant", content: "done" },
        finish_reason: "stop",
      }],
    }),
  whisper: ({ write, end }) => sendJson({ write, end }, { text: "heard" }),
};

/** Opens for what the server holds back; a new one for each question. */
let gate = Promise.withResolvers<void>();

/** Hold the rest of the gated answers back. */
export function closeGate(): void {
  gate = Promise.withResolvers();
}

/** Let the rest of the gated answers go. */
export function openGate(): void {
  gate.resolve();
}

/** Ends with the connection of the call that was answered last. */
export let lastClosed: Promise<void> = Promise.resolve();

async function sendJson(
  { write, end }: Pick<RawConnection, "write" | "end">,
  value: unknown,
): Promise<void> {
  const text = JSON.stringify(value);
  await write(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\nconnection: close\r\n\r\n${text}`,
  );
  end();
}

async function answer(connection: RawConnection): Promise<void> {
  const { body, path } = connection.call;
  lastClosed = connection.closed;
  const model = path === "/v1/audio/transcriptions"
    ? "whisper"
    : JSON.parse(body.toString()).model;
  await SCRIPTS[model]?.(connection);
}

/** Failures of one engine take it out for a while, so those that break off have one each. */
const SERVERS: readonly (readonly string[])[] = [
  Object.keys(SCRIPTS).filter((one) => !["fin", "rst", "cut"].includes(one)),
  ["fin"],
  ["rst"],
  ["cut"],
];

/** Two nodes of one cluster; what ben has, anna lists. */
export interface Relay extends AsyncDisposable {
  readonly anna: NodeProcess;
  readonly ben: NodeProcess;
  readonly servers: readonly RawUpstream[];
}

/** Start both nodes, and the servers behind ben. */
export async function startRelay(): Promise<Relay> {
  await using stack = new AsyncDisposableStack();
  const folder = await Deno.makeTempDir({ prefix: "covey-relay-" });
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  const servers: RawUpstream[] = [];
  for (const models of SERVERS) {
    servers.push(stack.use(await startRawUpstream(models, answer)));
  }
  const proxied = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  stack.defer(() => proxied.close());
  const secret = newSecret();
  const start = async (name: string, upstreams: string, config: unknown) =>
    stack.use(
      await startNode({
        name,
        dataDir: join(folder, name),
        config,
        env: {
          COVEY_CLUSTER_SECRET: secret,
          COVEY_ENGINE: "off",
          COVEY_LINK_HOST: "127.0.0.1",
          COVEY_LINK_PORT: "0",
          COVEY_MDNS_INTERFACES: "127.0.0.1",
          COVEY_PORT: "0",
          COVEY_UPSTREAMS: upstreams,
          // Nobody answers there: whatever went by it would fail.
          HTTP_PROXY: `http://127.0.0.1:${proxied.addr.port}`,
        },
      }),
    );
  const anna = await start("anna", "off", {
    engines: [{
      kind: "simulated",
      id: "sim",
      models: [{ id: "e", capability: "chat", decodeTokensPerSecond: 5_000 }],
    }],
  });
  const ben = await start(
    "ben",
    servers.map(({ url }, at) => `up${at}=openai:${url}`).join(","),
    { capabilities: { e: "embedding", ranker: "rerank" } },
  );
  await membersSeen([anna.url, ben.url], 2);
  await eventually("anna lists what ben's servers have", async () => {
    const { data } = await (await fetch(`${anna.url}/v1/models`)).json();
    const names = new Set(data.map(({ id }: { id: string }) => id));
    return SERVERS.flat().every((name) => names.has(name)) ? names : undefined;
  });
  const running = stack.move();
  return {
    anna,
    ben,
    servers,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Ask a node something, and offer it to compress the answer. */
export function ask(
  { url }: NodeProcess,
  path: Path,
  model: string,
  more: RequestInit & { readonly stream?: boolean } = {},
): Promise<Response> {
  const { stream = true, ...init } = more;
  return fetch(url + path, {
    method: "POST",
    headers: { "accept-encoding": "gzip, br" },
    body: JSON.stringify({
      model,
      stream,
      messages: [{ role: "user", content: "Hi" }],
      ...(path === "/v1/messages" ? { max_tokens: 50 } : {}),
    }),
    ...init,
  });
}

/** The text of an answer's stream, whichever dialect. */
export function textOf(path: Path, answered: string): string {
  const lines = answered.split("\n");
  const values = path === "/api/chat"
    ? lines.filter((line) => line !== "").map((line) => JSON.parse(line))
    : lines.filter((line) => line.startsWith("data: {"))
      .map((line) => JSON.parse(line.slice("data: ".length)));
  return values.map((value) => {
    switch (path) {
      case "/v1/chat/completions":
        return value.choices?.[0]?.delta?.content ?? "";
      case "/v1/messages":
        return value.delta?.text ?? "";
      case "/api/chat":
        return value.message?.content ?? "";
      default: {
        const never: never = path;
        return never;
      }
    }
  }).join("");
}

/** A figure of a node, by its name and labels. */
export async function counted(
  node: NodeProcess,
  series: string,
): Promise<number> {
  const text = await (await fetch(`${node.url}/metrics`)).text();
  const line = text.split("\n").find((one) => one.startsWith(`${series} `));
  return Number(line?.slice(series.length) ?? 0);
}
