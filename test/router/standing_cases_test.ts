import assert from "node:assert/strict";
import { type Conditions, UNKNOWN_MACHINE } from "../../src/domain/mod.ts";
import { createSeededEntropy, ManualClock } from "../../src/platform/mod.ts";
import { createRouter } from "../../src/router/mod.ts";
import { judgeConditions } from "../../src/sensors/judge_conditions.ts";
import { buildAttempt } from "../fakes/attempt_builder.ts";
import { chatRequest } from "../fakes/chat_request.ts";
import { CountingMetrics } from "../fakes/counting_metrics.ts";
import { QuietLog } from "../fakes/quiet_log.ts";
import { setUpRouter } from "../fakes/router_setup.ts";
import {
  answering,
  nodeIdOf,
  offerOf,
  type Script,
  ScriptedEngine,
} from "../fakes/scripted_engine.ts";

const NEVER = new AbortController().signal;

const FULL_DISK = judgeConditions({
  ...UNKNOWN_MACHINE,
  diskFreeBytes: 5e9,
  diskTotalBytes: 100e9,
}, true);
const BUSY = judgeConditions(
  { ...UNKNOWN_MACHINE, cpuCount: 4, load1: 8, ownLoad1: 0 },
  true,
);

/** A router whose machine is in a certain condition, and a peer that is well. */
function setUpOn(conditions: Conditions, peerOffers = [offerOf()]) {
  const clock = new ManualClock();
  const engine = (n: number, offers = [offerOf()]) =>
    new ScriptedEngine({
      clock,
      node: nodeIdOf(n),
      offers,
      script: () => answering(`from ${n}`),
    });
  const own = engine(1);
  const peer = engine(2, peerOffers);
  peer.hop = { medianMs: 1, jitterMs: 0 };
  const router = createRouter({
    self: { id: nodeIdOf(1), name: "node-1" },
    localEngines: [own],
    peers: () => [peer],
    policy: "balanced",
    maxQueue: 8,
    clock,
    entropy: createSeededEntropy(7),
    log: new QuietLog(),
    metrics: new CountingMetrics(),
    machine: {
      reading: () => UNKNOWN_MACHINE,
      conditions: () => conditions,
      served: () => ({ kind: "everyone" }),
    },
  });
  const ask = async () => {
    const answer = await router.route(chatRequest(), NEVER);
    return await new Response(answer.body).text();
  };
  return { ask, own, router };
}

Deno.test("a machine with a full disk or much other work stays in use, degraded: an equal one goes first", async () => {
  for (const conditions of [FULL_DISK, BUSY]) {
    assert.equal(conditions.ok, false);
    const { ask, own, router } = setUpOn(conditions);
    assert.match(await ask(), /from 2/);
    const [standing] = router.standing();
    const [reason] = conditions.reasons;
    assert.deepEqual(standing?.engines[0]?.availability, {
      kind: "degraded",
      reason: `This node ${reason}`,
    });
    assert.equal(standing?.engines[0]?.breaker, "closed");
    const alone = setUpOn(conditions, []);
    assert.match(await alone.ask(), /from 1/, "where it is all there is");
    const forPeer = await router.serve("fake", buildAttempt("m"), NEVER);
    assert.equal(forPeer.kind, "accepted", "peers may use it as well");
    assert.equal(own.attempts.length, 0);
  }
});

Deno.test("a full disk never keeps an answer from being given", async () => {
  const { ask } = setUpOn(
    judgeConditions(
      { ...UNKNOWN_MACHINE, diskFreeBytes: 0, diskTotalBytes: 1e9 },
      true,
    ),
    [],
  );
  assert.match(await ask(), /from 1/);
});

const QUIET_429 = {
  kind: "answer",
  status: 429,
  contentType: "application/json",
  steps: ["{}"],
} as const satisfies Script;

/** Each form of Retry-After, and how long the engine rests for it. */
const FORMS: readonly (readonly [string, (nowMs: number) => string, number])[] =
  [
    ["seconds", () => "7", 7000],
    ["seconds with blanks", () => " 7 ", 7000],
    ["a date of RFC 9110", (nowMs) => httpDate(nowMs + 7000), 7000],
    ["a date of RFC 850", (nowMs) => rfc850(nowMs + 7000), 7000],
    ["a date of asctime", (nowMs) => asctime(nowMs + 7000), 7000],
  ];

for (const [form, write, restMs] of FORMS) {
  Deno.test(`a 429 with ${form} as Retry-After rests that engine of that member, and nobody else (RET-01)`, async () => {
    const setup = setUpRouter(
      () => answering("own"),
      [
        () => ({ ...QUIET_429, retryAfter: write(wallMs) }),
        () => answering("other"),
      ],
    );
    const wallMs = Math.floor(setup.clock.now() / 1000) * 1000;
    const lostMs = setup.clock.now() - wallMs;
    setup.router.drain(true);
    const answer = await setup.router.route(chatRequest(), NEVER);
    assert.match(await new Response(answer.body).text(), /other/);
    const rests = setup.router.standing().map(({ engines }) =>
      engines[0]?.restsForMs ?? NaN
    );
    const [own, resting = NaN, other] = rests;
    assert.deepEqual([own, other], [0, 0]);
    assert(Math.abs(resting - restMs) <= lostMs + 1, `${resting}`);
    assert.equal(
      setup.router.standing()[1]?.engines[0]?.breaker,
      "closed",
      "a 429 is no failure",
    );
    await setup.clock.advance(restMs);
    assert.equal(setup.router.standing()[1]?.engines[0]?.restsForMs, 0);
  });
}

function httpDate(atMs: number): string {
  return new Date(atMs).toUTCString();
}

function rfc850(atMs: number): string {
  const [, date = "", month = "", year = "", time = ""] =
    /^..., (\d+) (...) (\d+) (\S+) GMT$/.exec(httpDate(atMs)) ?? [];
  const day = new Date(atMs).toLocaleDateString("en", {
    weekday: "long",
    timeZone: "UTC",
  });
  return `${day}, ${date}-${month}-${year.slice(2)} ${time} GMT`;
}

function asctime(atMs: number): string {
  const [, day, date = "", month, year, time] =
    /^(...), (\d+) (...) (\d+) (\S+) GMT$/.exec(httpDate(atMs)) ?? [];
  return `${day} ${month} ${String(Number(date)).padStart(2)} ${time} ${year}`;
}

Deno.test("a caller's mistakes at a peer open neither the peer's breaker nor its engine's (RTE-01)", async () => {
  for (const status of [400, 404, 413, 422]) {
    const setup = setUpRouter(() => answering("own"), [
      () => ({ ...QUIET_429, status }),
    ]);
    setup.router.drain(true);
    for (let n = 0; n < 12; n++) {
      const answer = await setup.router.route(chatRequest(), NEVER);
      assert.equal(answer.status, status);
      await answer.body.cancel();
    }
    const [, peer] = setup.router.standing();
    assert.deepEqual(
      [peer?.breaker, peer?.engines[0]?.breaker],
      ["closed", "closed"],
    );
    assert.equal(setup.peers[0]?.attempts.length, 12);
  }
});
