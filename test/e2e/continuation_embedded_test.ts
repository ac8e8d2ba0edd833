import assert from "node:assert/strict";
import { join } from "node:path";
import { writeCoveyTiny } from "../../scripts/fixtures/covey_tiny.ts";
import { HAS_CLUSTER } from "../../scripts/lab/cluster_code.ts";
import { eventually } from "../../scripts/lab/eventually.ts";
import { AddressCluster } from "./address_cluster.ts";
import { attemptsOf, chatPieces, streamAndAct } from "./killed_stream.ts";
import { descendants } from "./procfs.ts";

const DIES_AT = 40;
/** Enough that no answer is over when the kill comes. */
const TOKENS = 600;
const PROMPTS = ["Tell me", "hello", "a story", "x", "count", "Once upon"];

function chat(url: string, content: string, more: Record<string, string>) {
  return new Request(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...more },
    body: JSON.stringify({
      model: "covey-tiny",
      messages: [{ role: "user", content }],
      max_tokens: TOKENS,
      temperature: 0,
      ignore_eos: true,
      stream: true,
      stream_options: { include_usage: true },
    }),
  });
}

Deno.test({
  name:
    "an answer of llama.cpp goes on as if nothing had been when its engine process is killed, and when its whole node is (SSE-06)",
  ignore: !HAS_CLUSTER || Deno.build.os !== "linux",
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "covey-e2e-" });
    const models = join(folder, "models");
    await using cluster = new AddressCluster(folder, {
      env: {
        COVEY_ENGINE_THREADS: "1",
        COVEY_MODELS_DIR: models,
        COVEY_SLOTS: String(PROMPTS.length),
      },
    });
    await writeCoveyTiny(models);
    await cluster.open({});
    const server = await cluster.add("server", {});
    await cluster.isUsed("server");
    const whole = new Map<string, string>();
    for (const prompt of PROMPTS) {
      const local = chat(cluster.url, prompt, { "x-covey-source": "local" });
      whole.set(prompt, chatPieces(await (await fetch(local)).text()).join(""));
    }
    const { id } = await cluster.worker("server");

    const killUnder = async (
      prompts: readonly string[],
      kill: () => Promise<void>,
    ) => {
      await cluster.act("POST", "/fleet/workers/entry/drain");
      let left = prompts.length;
      const { promise, resolve } = Promise.withResolvers<void>();
      const act = async () => {
        if (--left === 0) {
          await cluster.act("POST", "/fleet/workers/entry/undrain");
          resolve(kill());
        }
        await promise;
      };
      await Promise.all(prompts.map(async (prompt) => {
        const { decision, raw } = await streamAndAct(
          chat(cluster.url, prompt, { "x-covey-continue": "1" }),
          { isThere: (raw) => raw.split("\n\n").length > DIES_AT + 2, act },
        );
        const attempts = await attemptsOf(cluster.url, decision);
        assert.deepEqual(
          attempts.map(({ outcome }) => outcome),
          ["broken_off", "answered"],
        );
        assert.equal(attempts[0]?.node, id);
        assert((attempts[1]?.resumedAtTokens ?? 0) >= DIES_AT);
        assert.equal(chatPieces(raw).join(""), whole.get(prompt));
        assert.match(raw, new RegExp(`"completion_tokens":${TOKENS}\\b`));
        assert(raw.endsWith("data: [DONE]\n\n"));
      }));
    };

    // Its model is loaded by an answer of its own, which is the same.
    const there = chat(cluster.url, "x", { "x-covey-source": "node:server" });
    assert.equal(
      chatPieces(await (await fetch(there)).text()).join(""),
      whole.get("x"),
    );
    await killUnder(PROMPTS.slice(0, 1), async () => {
      for (const child of await descendants(server.pid)) {
        Deno.kill(child, "SIGKILL");
      }
    });
    await eventually("the server has its engine again", async () => {
      const again = await fetch(
        chat(cluster.url, "x", { "x-covey-source": "node:server" }),
      );
      await again.text();
      return again.ok ? true : undefined;
    });
    await killUnder(PROMPTS, () => server.end("SIGKILL").then(() => {}));
  },
});
