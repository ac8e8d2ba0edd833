import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { HAS_CLUSTER } from "../../scripts/lab/cluster_code.ts";
import { eventually } from "../../scripts/lab/eventually.ts";
import type { NodeProcess } from "../../scripts/lab/node_process.ts";
import {
  ask,
  closeGate,
  counted,
  lastClosed,
  openGate,
  PATHS,
  startRelay,
  TEXT,
  textOf,
} from "./relay_setup.ts";

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
      "SSE-11 a client that leaves anna stops ben's server, whole or streamed, and is nobody's failure",
      async () => {
        const broken = 'covey_attempts_total{outcome="broken_off"}';
        const failed = await counted(anna, broken);
        for (
          const [model, stream] of [["endless", true], [
            "silent",
            false,
          ]] as const
        ) {
          for (const path of PATHS) {
            const before: number = main.calls.length;
            if (stream) {
              const { body } = await ask(anna, path, model);
              const reader = body?.getReader();
              await reader?.read();
              await reader?.read();
              await reader?.cancel();
            } else {
              const leaving = new AbortController();
              const asked = ask(anna, path, model, {
                stream,
                signal: leaving.signal,
              });
              await eventually(
                "the server is asked",
                () => Promise.resolve(main.calls.length > before || undefined),
              );
              leaving.abort();
              await assert.rejects(asked);
            }
            // The server of the other member sees its connection end.
            await lastClosed;
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
            assert.equal(main.calls.length, before + 1, "no retry");
            assert.equal(await counted(anna, broken), failed);
          }
        }
      },
    );

    await t.step(
      "SSE-13 an event arrives before the next one exists, compression offered",
      async () => {
        for (const path of PATHS) {
          closeGate();
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
          openGate();
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
