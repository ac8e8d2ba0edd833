import assert from "node:assert/strict";
import { HAS_CLUSTER } from "../../scripts/lab/cluster_code.ts";
import { issueForTest } from "../../scripts/lab/licensed.ts";
import type { NodeProcess } from "../../scripts/lab/node_process.ts";
import { AddressCluster } from "./address_cluster.ts";
import {
  attemptsOf,
  chatPieces,
  type KilledStream,
  streamAndAct,
} from "./killed_stream.ts";

const DIES_AT = 40;
const TOKENS = 100;
/** Streams under each kill that may go on. */
const STREAMS = 4;
const SERVERS = 3;
/** Kills in all, rounded up to whole rounds; each costs the start of a process. */
const KILLS = Number(Deno.env.get("COVEY_KILLS") ?? SERVERS);
const WHOLE = Array.from({ length: TOKENS }, (_, at) => `w${at + 1} `);

/** A model of each server's own, which the entry has as well. */
function simulated(servers: readonly number[], tokensPerSecond: number) {
  return {
    engines: [{
      kind: "simulated",
      id: "sim",
      models: servers.map((n) => ({
        id: `sim-${n}`,
        decodeTokensPerSecond: tokensPerSecond,
        batchSlowdown: 0,
        slots: STREAMS * SERVERS,
      })),
    }],
  };
}

/** An entry node, and servers that can be killed and replaced. */
class Fleet implements AsyncDisposable {
  readonly all: readonly number[] = Array.from(
    { length: SERVERS },
    (_, n) => n,
  );
  readonly #cluster: AddressCluster;
  #servers: readonly NodeProcess[] = [];
  #rounds = 0;

  static async open(): Promise<Fleet> {
    const folder = await Deno.makeTempDir({ prefix: "covey-e2e-" });
    const { command, env, licence } = await issueForTest(folder, "unlimited");
    const fleet = new Fleet(
      new AddressCluster(folder, {
        command,
        env: { ...env, COVEY_ENGINE: "off", COVEY_LICENCE: licence },
      }),
    );
    try {
      await fleet.#cluster.open(simulated(fleet.all, 400));
      return fleet;
    } catch (error) {
      await fleet[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(cluster: AddressCluster) {
    this.#cluster = cluster;
  }

  get url(): string {
    return this.#cluster.url;
  }

  /** Start servers, new ones in the place of those that were killed. */
  async renew(): Promise<void> {
    const round = ++this.#rounds;
    this.#servers = await Promise.all(this.all.map(async (n) => {
      const name = `server-${n}-${round}`;
      const server = await this.#cluster.add(name, simulated([n], 20));
      await this.#cluster.isUsed(name);
      return server;
    }));
  }

  async kill(n: number): Promise<void> {
    await this.#servers[n]?.end("SIGKILL");
  }

  /** Have the entry serve nobody itself, or again. */
  async drain(draining: boolean): Promise<void> {
    const action = draining ? "drain" : "undrain";
    const response = await this.#cluster.act(
      "POST",
      `/fleet/workers/entry/${action}`,
    );
    assert.equal(response.status, 200, await response.text());
  }

  /** The id of a server. */
  async idOf(n: number): Promise<string> {
    const { id } = await this.#cluster.worker(this.#servers[n]?.name ?? "");
    return id;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cluster[Symbol.asyncDispose]();
  }
}

function post(url: string, body: unknown, continues: boolean): Request {
  return new Request(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-covey-continue": continues ? "1" : "0",
    },
    body: JSON.stringify(body),
  });
}

function chat(n: number) {
  return {
    model: `sim-${n}`,
    messages: [{ role: "user", content: "hello" }],
    max_tokens: TOKENS,
    temperature: 0,
    stream: true,
    stream_options: { include_usage: true },
  };
}

const hasDiesAt = (raw: string) => raw.includes(`w${DIES_AT} `);

async function checkWhole(
  { decision, raw }: KilledStream,
  fleet: Fleet,
  n: number,
): Promise<void> {
  assert.deepEqual(chatPieces(raw), WHOLE);
  assert(raw.endsWith("data: [DONE]\n\n"));
  assert.match(raw, /"completion_tokens":100/);
  assert.equal(new Set(raw.match(/"id":"[^"]+"/g)).size, 1);
  const attempts = await attemptsOf(fleet.url, decision);
  assert.deepEqual(
    attempts.map(({ outcome }) => outcome),
    ["broken_off", "answered"],
  );
  assert.equal(attempts[0]?.node, await fleet.idOf(n));
  assert((attempts[1]?.resumedAtTokens ?? 0) >= DIES_AT);
}

/** The words of a broken stream in any dialect, and a bound on how many there may be. */
function checkBegun(raw: string): void {
  const words = raw.match(/w\d+ /g) ?? [];
  assert.deepEqual(words, WHOLE.slice(0, words.length));
  assert(words.length >= DIES_AT && words.length < TOKENS);
}

/** A stream of each dialect that the kill of its server breaks off for good. */
const BROKEN: readonly {
  readonly path: string;
  readonly body: (n: number) => unknown;
  readonly check: (raw: string) => void;
}[] = [
  {
    path: "/v1/chat/completions",
    body: chat,
    check(raw) {
      const events = raw.trimEnd().split("\n\n");
      const { error } = JSON.parse(events.at(-1)?.slice("data: ".length) ?? "");
      assert.equal(typeof error.message, "string");
      assert.equal(typeof error.type, "string");
      assert(!raw.includes("[DONE]"));
    },
  },
  {
    path: "/v1/messages",
    body: (n) => ({
      model: `sim-${n}`,
      messages: [{ role: "user", content: "hello" }],
      max_tokens: TOKENS,
      stream: true,
    }),
    check(raw) {
      const last = raw.trimEnd().split("\n\n").at(-1) ?? "";
      const [, data] = /^event: error\ndata: (.*)$/.exec(last) ?? [];
      const { error, type } = JSON.parse(data ?? "");
      assert.equal(type, "error");
      assert.equal(typeof error.message, "string");
      assert(!raw.includes("message_stop"));
    },
  },
  {
    path: "/api/chat",
    body: (n) => ({
      model: `sim-${n}`,
      messages: [{ role: "user", content: "hello" }],
      options: { num_predict: TOKENS },
    }),
    check(raw) {
      const lines = raw.trimEnd().split("\n").map((line) => JSON.parse(line));
      assert.equal(typeof lines.at(-1).error, "string");
      assert(lines.every(({ done }) => done !== true));
    },
  },
];

Deno.test({
  name:
    "serving processes killed at token 40 of 100 under twelve streams cost no word and repeat none; without leave to go on each dialect ends in its error (SSE-06)",
  ignore: !HAS_CLUSTER,
  async fn() {
    await using fleet = await Fleet.open();
    for (let killed = 0; killed < KILLS; killed += SERVERS) {
      await fleet.renew();
      await killAll(fleet, killed);
    }
  },
});

/** Kill every server under its streams, of which all but one may go on. */
async function killAll(fleet: Fleet, killed: number): Promise<void> {
  // Nothing is left to chance: a drained entry serves nobody itself.
  await fleet.drain(true);
  const begun = countdown((STREAMS + 1) * SERVERS, () => fleet.drain(false));
  await Promise.all(fleet.all.map(async (n) => {
    const { body, check, path } = BROKEN[(killed + n) % BROKEN.length] ??
      assert.fail();
    const kill = countdown(STREAMS + 1, async () => {
      await begun.over;
      await fleet.kill(n);
    });
    const stream = (request: Request) =>
      streamAndAct(request, {
        begun: begun.down,
        isThere: hasDiesAt,
        act: kill.down,
      });
    const broken = stream(post(`${fleet.url}${path}`, body(n), false));
    const resumed = Array.from({ length: STREAMS }, async () => {
      const request = post(`${fleet.url}/v1/chat/completions`, chat(n), true);
      await checkWhole(await stream(request), fleet, n);
    });
    const [{ decision, raw, status }] = await Promise.all([broken, ...resumed]);
    assert.equal(status, 200);
    checkBegun(raw);
    check(raw);
    const attempts = await attemptsOf(fleet.url, decision);
    assert.deepEqual(
      attempts.map(({ outcome }) => outcome),
      ["broken_off"],
      "no second engine is asked",
    );
  }));
}

/** Does something when so many have come; it is waited for by all of them. */
function countdown(count: number, act: () => Promise<void>) {
  const { promise, resolve } = Promise.withResolvers<void>();
  let left = count;
  return {
    over: promise,
    down(): Promise<void> {
      if (--left === 0) resolve(act());
      return promise;
    },
  };
}
