import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { HAS_CLUSTER } from "../../scripts/lab/cluster_code.ts";
import { eventually } from "../../scripts/lab/eventually.ts";
import { membersSeen } from "../../scripts/lab/members.ts";
import { type NodeProcess, startNode } from "../../scripts/lab/node_process.ts";
import { chunk, DONE, USAGE } from "../api/dialect/streams.ts";
import {
  type RawConnection,
  type RawUpstream,
  startRawUpstream,
} from "../fakes/raw_upstream.ts";

/** Cases from the field on the way client → anna → link → ben → a server whose bytes are the test's. */
const PATHS = ["/v1/chat/completions", "/v1/messages", "/api/chat"] as const;
type Path = typeof PATHS[number];

const HEAD =
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
const CHUNKED =
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const TEXT = "北🌍é";
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

let gate = Promise.withResolvers<void>();

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

interface Relay extends AsyncDisposable {
  readonly anna: NodeProcess;
  readonly ben: NodeProcess;
  readonly servers: readonly RawUpstream[];
}

async function startRelay(): Promise<Relay> {
  await using stack = new AsyncDisposableStack();
  const folder = await Deno.makeTempDir({ prefix: "covey-relay-" });
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  const servers: RawUpstream[] = [];
  for (const models of SERVERS) {
    servers.push(stack.use(await startRawUpstream(models, answer)));
  }
  const proxied = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  stack.defer(() => proxied.close());
  const start = async (name: string, upstreams: string, config: unknown) =>
    stack.use(
      await startNode({
        name,
        dataDir: join(folder, name),
        config,
        env: {
          COVEY_CLUSTER_SECRET: "a secret for relayed cases, 0123456789",
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
  await membersSeen([anna.url, ben.url], 2, 20_000);
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

function ask(
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
function textOf(path: Path, answered: string): string {
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

async function counted(node: NodeProcess, series: string): Promise<number> {
  const text = await (await fetch(`${node.url}/metrics`)).text();
  const line = text.split("\n").find((one) => one.startsWith(`${series} `));
  return Number(line?.slice(series.length) ?? 0);
}

Deno.test({
  name: "cases from the field, relayed through a second member",
  ignore: !HAS_CLUSTER,
  async fn(t) {
    await using relay = await startRelay();
    const { anna, ben, servers: [main, fin] } = relay;
    assert(main !== undefined);

    await t.step(
      "SSE-01 characters cut by writes arrive whole in every dialect",
      async () => {
        for (const path of PATHS) {
          for (const model of ["cuts", "bytes"]) {
            const bytes = await (await ask(anna, path, model)).bytes();
            const text = new TextDecoder("utf-8", { fatal: true }).decode(
              bytes,
            );
            assert(!text.includes("\uFFFD"));
            assert.equal(textOf(path, text), TEXT, `${path} ${model}`);
          }
        }
      },
    );

    await t.step("SSE-03 comments are no data and no line", async () => {
      for (const path of PATHS) {
        const text = await (await ask(anna, path, "comments")).text();
        assert.doesNotMatch(text, /^data: :/m);
        assert.equal(textOf(path, text), "abc", path);
        if (path !== "/api/chat") continue;
        for (const line of text.trimEnd().split("\n")) JSON.parse(line);
      }
    });

    await t.step(
      "SSE-04 what breaks off ends in an error, is counted, and is no success",
      async () => {
        const failures = 'covey_attempts_total{outcome="broken_off"}';
        const before = await counted(anna, failures);
        for (const model of ["fin", "rst", "cut"]) {
          for (const path of PATHS) {
            const response = await ask(anna, path, model);
            const decision = response.headers.get("x-covey-decision");
            const text = await response.text();
            assert.equal(textOf(path, text), "abc", `${path} ${model}`);
            assert.match(
              text,
              path === "/v1/messages"
                ? /^event: error\ndata: \{"type":"error","error":\{/m
                : path === "/api/chat"
                ? /^\{"error":".+"\}$/m
                : /^data: \{"error":\{/m,
            );
            assert.doesNotMatch(
              text,
              /"finish_reason":"|message_stop|"done":true|\[DONE\]/,
              `${path} ${model}`,
            );
            const record = await (await fetch(
              `${anna.url}/covey/decisions/${decision}`,
            )).json();
            assert.deepEqual(
              record.attempts.map(({ outcome }: { outcome: string }) =>
                outcome
              ),
              ["broken_off"],
            );
          }
        }
        assert.equal(await counted(anna, failures), before + 9);
        // The fourth and fifth failure within a minute take the engine out.
        for (let n = 0; n < 2; n++) {
          await (await ask(anna, "/v1/chat/completions", "fin")).text();
        }
        const asked = fin?.calls.length;
        const refused = await ask(anna, "/v1/chat/completions", "fin");
        assert.equal(refused.status, 503);
        assert.match(await refused.text(), /failed too often/);
        assert.equal(fin?.calls.length, asked);
      },
    );

    await t.step(
      "SSE-11 a client that leaves anna stops ben's server, whole or streamed",
      async () => {
        for (
          const [model, stream] of [["endless", true], [
            "silent",
            false,
          ]] as const
        ) {
          for (const path of PATHS) {
            const leaving = new AbortController();
            const before: number = main.calls.length;
            const asked = ask(anna, path, model, {
              stream,
              signal: leaving.signal,
            });
            if (stream) {
              const reader = (await asked).body?.getReader();
              await reader?.read();
              await reader?.read();
              leaving.abort();
              await reader?.closed.catch(() => {});
            } else {
              await eventually(
                "the server is asked",
                () => Promise.resolve(main.calls.length > before || undefined),
              );
              leaving.abort();
              await assert.rejects(asked);
            }
            const leftMs = performance.now();
            await eventually("nothing runs on either node", async () => {
              const { workers } = await (await fetch(
                `${anna.url}/fleet/health`,
              )).json();
              const running = workers.map((
                { inFlight }: { inFlight: number },
              ) => inFlight);
              const gauges = await Promise.all(
                [anna, ben].map((node) => counted(node, "covey_inflight")),
              );
              return [...running, ...gauges].every((count) => count === 0) ||
                undefined;
            });
            assert(performance.now() - leftMs < 5_000);
            assert.equal(main.calls.length, before + 1, "no retry");
          }
        }
      },
    );

    await t.step(
      "SSE-13 an event arrives before the next one exists, compression offered",
      async () => {
        for (const path of PATHS) {
          gate = Promise.withResolvers();
          const response = await ask(anna, path, "gated");
          let text = "";
          const reader = response.body?.pipeThrough(new TextDecoderStream())
            .getReader();
          while (
            textOf(path, text.slice(0, text.lastIndexOf("\n") + 1)) === ""
          ) {
            const { value, done } = await reader?.read() ?? { done: true };
            assert.equal(done, false);
            text += value ?? "";
          }
          gate.resolve();
          for (;;) {
            const { value, done } = await reader?.read() ?? { done: true };
            if (done) break;
            text += value ?? "";
          }
          assert.equal(textOf(path, text), "firstlast", path);
        }
      },
    );

    await t.step(
      "EMB-04 an embedding passes by the chat engine of that name at home",
      async () => {
        const post = (path: string, body: object) =>
          fetch(anna.url + path, {
            method: "POST",
            body: JSON.stringify(body),
          });
        const { data } = await (await post("/v1/embeddings", {
          model: "e",
          input: "hi",
        })).json();
        assert.deepEqual(data[0].embedding, [0.5, 0.25]);
        const chat = await ask(anna, "/v1/chat/completions", "e", {
          stream: false,
        });
        assert.equal(chat.headers.get("x-covey-node"), await idOf(anna));
        await chat.body?.cancel();
        for (
          const [path, body] of [
            ["/v1/embeddings", { model: "echo", input: "hi" }],
            ["/v1/rerank", { model: "echo", query: "a", documents: ["b"] }],
            ["/v1/chat/completions", {
              model: "ranker",
              messages: [{ role: "user", content: "Hi" }],
            }],
          ] as const
        ) {
          const before: number = main.calls.length;
          const refused = await post(path, body);
          assert.equal(refused.status, 400);
          assert.match((await refused.json()).error.message, /cannot do this/);
          assert.equal(main.calls.length, before);
        }
      },
    );

    await t.step(
      "documents are ranked over the link, in order and with usage",
      async () => {
        const response = await fetch(`${anna.url}/v1/rerank`, {
          method: "POST",
          body: JSON.stringify({
            model: "ranker",
            query: "q",
            documents: ["four", { text: "longest" }, "one"],
            top_n: 2,
            return_documents: false,
          }),
        });
        const { results, usage } = await response.json();
        assert.deepEqual(results, [
          { index: 1, relevance_score: 0.07 },
          { index: 0, relevance_score: 0.04 },
        ]);
        assert.deepEqual(usage, { prompt_tokens: 3, total_tokens: 3 });
      },
    );

    await t.step(
      "numbers beyond 2^53 reach the server as the client wrote them",
      async () => {
        const big = "12345678901234567890";
        const response = await fetch(`${anna.url}/v1/chat/completions`, {
          method: "POST",
          body:
            `{"model":"echo","messages":[{"role":"user","content":"Hi"}],"odd":[${big},-${big}]}`,
        });
        await response.body?.cancel();
        const asked = main.calls.at(-1)?.body.toString() ?? "";
        assert(asked.includes(`"odd":[${big},-${big}]`), asked);
      },
    );

    await t.step(
      "AUD-01 a file reaches the server of another member byte for byte",
      async () => {
        const file = new Uint8Array(100_000).map((_, at) => at * 7);
        const form = new FormData();
        form.append("file", new Blob([file]), "a.m4a");
        form.append("model", "whisper");
        const response = await fetch(`${anna.url}/v1/audio/transcriptions`, {
          method: "POST",
          body: form,
        });
        assert.deepEqual(await response.json(), { text: "heard" });
        const asked = main.calls.at(-1);
        assert(asked !== undefined);
        assert(asked.body.includes(Buffer.from(file)), "as they were");
        assert(asked.body.includes('filename="a.m4a"'));
        assert.match(asked.head, /multipart\/form-data; boundary=/i);
      },
    );
  },
});

async function idOf(node: NodeProcess): Promise<string> {
  const { members } = await (await fetch(`${node.url}/cluster/members`)).json();
  return members.find(({ self }: { self: boolean }) => self).id;
}
