import assert from "node:assert/strict";
import { join } from "node:path";
import { writeCoveyTiny } from "../../scripts/fixtures/covey_tiny.ts";
import { HAS_CLUSTER } from "../../scripts/lab/cluster_code.ts";
import { eventually } from "../../scripts/lab/eventually.ts";
import type { NodeProcess } from "../../scripts/lab/node_process.ts";
import { AddressCluster } from "./address_cluster.ts";
import {
  attemptsOf,
  chatPieces,
  type KilledStream,
  streamAndAct,
} from "./killed_stream.ts";
import { descendants } from "./procfs.ts";

const DIES_AT = 40;
const TOKENS = 300;
/**
 * What goes on was read at once and not written word by word, which rounds
 * sums otherwise. Of the words after these none has a next best one that is
 * closer than half a per cent, so that this changes no word; five times less
 * did, once. Asked one after the other: side by side rounds otherwise too.
 */
const PROMPTS = ["baker", "hi", "x", "king"];
/** The model writes all of it in a fifth of a second: an answer may be over before the kill comes. */
const MOST_MISSES = 20;
/**
 * Kills of a node's engine process in a row. A fifth within a minute, whatever
 * process it hits, makes the other node leave that engine alone for 30 s.
 */
const MOST_IN_A_ROW = 4;
/** Kills in all, the one of a node included: ten in `deno task kills:stream`. */
const KILLS = Math.max(
  3,
  Math.min(Number(Deno.env.get("COVEY_KILLS") ?? 3), 2 * MOST_IN_A_ROW + 2),
);

interface AskOptions {
  readonly continues?: boolean;
  readonly maxTokens?: number;
  readonly source?: string;
}

function chat(
  { url }: NodeProcess,
  content: string,
  { continues = false, maxTokens = TOKENS, source }: AskOptions,
): Request {
  return new Request(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-covey-continue": continues ? "1" : "0",
      ...source === undefined ? {} : { "x-covey-source": source },
    },
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

async function post(
  { url }: NodeProcess,
  path: string,
  body: unknown = {},
): Promise<void> {
  const response = await fetch(`${url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  assert.equal(response.status, 200, await response.text());
}

/** Wait until a node answers from somewhere: then the model is loaded there, and the node knows. */
async function answers(asked: NodeProcess, source: string): Promise<void> {
  await eventually(`${asked.name} has an answer from ${source}`, async () => {
    const request = chat(asked, "x", { maxTokens: 1, source });
    const response = await fetch(request);
    await response.text();
    return response.ok ? true : undefined;
  }, 60_000);
}

async function workerOf(
  { url }: NodeProcess,
  name: string,
): Promise<{ readonly id: string }> {
  return await (await fetch(`${url}/fleet/workers/${name}/status`)).json();
}

/** Have a new engine process where one may have been killed. */
async function heal(node: NodeProcess): Promise<void> {
  // An operator's word ends the back-off.
  await post(node, "/covey/models/covey-tiny/unload", { node: node.name });
  await answers(node, "local");
}

/** Kill what a node has started: its engine, and programs of its sensors, which may be over. */
function killAll(children: readonly number[]): void {
  for (const pid of children) {
    try {
      Deno.kill(pid, "SIGKILL");
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
}

/** Streams answers of one node through another, and kills under them. */
class Killer {
  readonly #known = new Map<string, string>();
  /** Kills so far that broke an answer off. */
  kills = 0;

  /** Kill a node's engine process under an answer. */
  async killEngine(
    asked: NodeProcess,
    victim: NodeProcess,
    continues: boolean,
  ): Promise<void> {
    for (let miss = 0; miss < MOST_MISSES; miss++) {
      await heal(victim);
      await answers(asked, `node:${victim.name}`);
      const children = await descendants(victim.pid);
      const hasHit = await this.killUnder(asked, victim, continues, () => {
        killAll(children);
        return Promise.resolve();
      });
      if (hasHit) return;
    }
    throw new Error(`${MOST_MISSES} answers were over before the kill came`);
  }

  /**
   * Kill something of a node under an answer.
   *
   * @returns Whether the answer was not over by then.
   */
  async killUnder(
    asked: NodeProcess,
    victim: NodeProcess,
    continues: boolean,
    kill: () => Promise<unknown>,
  ): Promise<boolean> {
    const prompt = PROMPTS[this.kills % PROMPTS.length] ?? "hi";
    const whole = await this.#wholeOf(asked, prompt);
    const turn = (action: "drain" | "undrain") =>
      post(asked, `/fleet/workers/${asked.name}/${action}`);
    // Nothing is left to chance: a drained node serves nobody itself.
    await turn("drain");
    let taken: Promise<void> | null = null;
    const stream = await streamAndAct(chat(asked, prompt, { continues }), {
      begun: () => taken = turn("undrain"),
      isThere: (raw) => raw.split("\n\n").length > DIES_AT + 2,
      // Undrained first, or nobody is there to go on.
      act: async () => {
        await taken;
        await kill();
      },
    });
    const attempts = await attemptsOf(asked.url, stream.decision);
    const { id } = await workerOf(asked, victim.name);
    assert.equal(attempts[0]?.node, id);
    const [first, ...more] = attempts.map(({ outcome }) => outcome);
    if (first === "answered") {
      checkWhole(stream, whole);
      return false;
    }
    this.kills++;
    assert.equal(first, "broken_off");
    if (continues) {
      assert.deepEqual(more, ["answered"]);
      assert((attempts[1]?.resumedAtTokens ?? 0) >= DIES_AT);
      checkWhole(stream, whole);
    } else {
      assert.deepEqual(more, [], "no second engine is asked");
      checkBroken(stream, whole);
    }
    return true;
  }

  /** What a node says by itself, with no kill. */
  async #wholeOf(asked: NodeProcess, prompt: string): Promise<string> {
    const request = chat(asked, prompt, { source: "local" });
    const whole = this.#known.get(prompt) ??
      chatPieces(await (await fetch(request)).text()).join("");
    this.#known.set(prompt, whole);
    return whole;
  }
}

function checkWhole({ raw }: KilledStream, whole: string): void {
  assert.equal(chatPieces(raw).join(""), whole);
  assert.match(raw, new RegExp(`"completion_tokens":${TOKENS}\\b`));
  assert(raw.endsWith("data: [DONE]\n\n"));
}

function checkBroken({ raw }: KilledStream, whole: string): void {
  const said = chatPieces(raw).join("");
  assert(said !== "" && said.length < whole.length && whole.startsWith(said));
  const last = raw.trimEnd().split("\n\n").at(-1) ?? "";
  assert.equal(typeof JSON.parse(last.slice(6)).error.message, "string");
  assert(!raw.includes("[DONE]"));
}

Deno.test({
  name:
    "of serving processes of llama.cpp killed under an answer none costs a token or repeats one; without leave to go on it ends in an error (SSE-06)",
  ignore: !HAS_CLUSTER || Deno.build.os !== "linux",
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "covey-e2e-" });
    const models = join(folder, "models");
    await using cluster = new AddressCluster(folder, {
      env: { COVEY_ENGINE_THREADS: "1", COVEY_MODELS_DIR: models },
    });
    await writeCoveyTiny(models);
    const entry = await cluster.open({});
    const server = await cluster.add("server", {});
    await cluster.isUsed("server");
    const killer = new Killer();
    // Of engine processes all but one: the last is killed without leave to go on.
    const ofServer = Math.floor((KILLS - 1) / 2);
    for (let n = 0; n < ofServer; n++) {
      await killer.killEngine(entry, server, true);
    }
    await heal(server);
    while (killer.kills < KILLS - 2) {
      await killer.killEngine(server, entry, true);
    }
    await killer.killEngine(server, entry, false);
    await heal(entry);
    let node = server;
    for (let miss = 0; miss < MOST_MISSES; miss++) {
      await answers(entry, `node:${node.name}`);
      const end = () => node.end("SIGKILL");
      if (await killer.killUnder(entry, node, true, end)) break;
      node = await another(cluster);
    }
    assert.equal(killer.kills, KILLS);
  },
});

/** Another node in the place of one whose answer was over before it was killed. */
async function another(cluster: AddressCluster): Promise<NodeProcess> {
  const node = await cluster.add(`server-${crypto.randomUUID()}`, {});
  await cluster.isUsed(node.name);
  return node;
}
