import assert from "node:assert/strict";
import { join } from "node:path";
import { writeCoveyTiny } from "../../scripts/fixtures/covey_tiny.ts";
import { HAS_CLUSTER } from "../../scripts/lab/cluster_code.ts";
import { eventually } from "../../scripts/lab/eventually.ts";
import { AddressCluster } from "./address_cluster.ts";
import { attemptsOf, chatPieces, streamAndAct } from "./killed_stream.ts";
import { descendants } from "./procfs.ts";

const DIES_AT = 40;
/**
 * Enough that no answer is over when the kill comes: the model writes a
 * thousand tokens a second, and a busy machine takes its time over a kill.
 */
const TOKENS = 1000;
/**
 * Asked one after the other: side by side, sums are rounded otherwise, and an
 * answer may differ with no kill at all.
 */
const PROMPTS = ["Tell me", "hello", "a story", "x", "count"];
/** Kills of the engine process; the node is killed once besides. */
const KILLS = Number(Deno.env.get("COVEY_KILLS") ?? 1);

function chat(
  url: string,
  content: string,
  more: Record<string, string>,
  maxTokens = TOKENS,
) {
  return new Request(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...more },
    body: JSON.stringify({
      model: "covey-tiny",
      messages: [{ role: "user", content }],
      max_tokens: maxTokens,
      temperature: 0,
      ignore_eos: true,
      stream: true,
      stream_options: { include_usage: true },
    }),
  });
}

/** Kill a process, which may be a program of the sensors' that is over. */
function endChild(pid: number): void {
  try {
    Deno.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
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
      },
    });
    await writeCoveyTiny(models);
    await cluster.open({});
    const server = await cluster.add("server", {});
    await cluster.isUsed("server");
    const known = new Map<string, string>();
    /** What the entry says by itself, with no kill. */
    const wholeOf = async (prompt: string) => {
      const local = chat(cluster.url, prompt, { "x-covey-source": "local" });
      const whole = known.get(prompt) ??
        chatPieces(await (await fetch(local)).text()).join("");
      known.set(prompt, whole);
      return whole;
    };
    const { id } = await cluster.worker("server");

    const killUnder = async (prompt: string, kill: () => Promise<unknown>) => {
      await eventually("the server is asked again", async () => {
        const { breaker } = await cluster.worker("server");
        return breaker === "open" ? undefined : true;
      }, 60_000);
      const whole = await wholeOf(prompt);
      // Nothing is left to chance: a drained entry serves nobody itself.
      await turn("drain");
      const request = chat(cluster.url, prompt, { "x-covey-continue": "1" });
      let taken: Promise<void> | null = null;
      const { decision, raw } = await streamAndAct(request, {
        begun: () => taken = turn("undrain"),
        isThere: (raw) => raw.split("\n\n").length > DIES_AT + 2,
        act: () => Promise.all([kill(), taken]),
      });
      const attempts = await attemptsOf(cluster.url, decision);
      assert.deepEqual(
        attempts.map(({ outcome }) => outcome),
        ["broken_off", "answered"],
      );
      assert.equal(attempts[0]?.node, id);
      assert((attempts[1]?.resumedAtTokens ?? 0) >= DIES_AT);
      assert.equal(chatPieces(raw).join(""), whole);
      assert.match(raw, new RegExp(`"completion_tokens":${TOKENS}\\b`));
      assert(raw.endsWith("data: [DONE]\n\n"));
    };
    const turn = async (action: "drain" | "undrain") => {
      const path = `/fleet/workers/entry/${action}`;
      await (await cluster.act("POST", path)).text();
    };
    const answers = (what: string, url: string, source: string) =>
      eventually(what, async () => {
        const request = chat(url, "x", { "x-covey-source": source }, 1);
        const there = await fetch(request);
        await there.text();
        return there.ok ? true : undefined;
      }, 60_000);
    const isLoaded = async () => {
      // The server first, which knows when its engine may start again: what the
      // entry tries before it has heard of that counts against the server.
      await answers("the server has its model", server.url, "local");
      await answers("the entry knows", cluster.url, "node:server");
    };

    for (let killed = 0; killed < KILLS; killed++) {
      await isLoaded();
      const prompt = PROMPTS[killed % PROMPTS.length] ?? "x";
      const children = await descendants(server.pid);
      await killUnder(prompt, () => {
        for (const child of children) endChild(child);
        return Promise.resolve();
      });
    }
    await isLoaded();
    await killUnder(PROMPTS[0] ?? "x", () => server.end("SIGKILL"));
  },
});
