import assert from "node:assert/strict";
import { Fault, type RoutedAnswer } from "../../src/domain/mod.ts";
import { chatRequest } from "../fakes/chat_request.ts";
import { type RouterSetup, setUpRouter } from "../fakes/router_setup.ts";
import {
  answering,
  DONE,
  event,
  finish,
  nodeIdOf,
  offerOf,
  ROLE,
  type Script,
  text,
} from "../fakes/scripted_engine.ts";

const NEVER = new AbortController().signal;
const WHOLE =
  '{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}';

async function textOf(answer: RoutedAnswer): Promise<string> {
  return await new Response(answer.body).text();
}

/** Run a request to its end while time goes by. */
async function ask(
  setup: RouterSetup,
  part: Parameters<typeof chatRequest>[0] = {},
): Promise<{ answer: RoutedAnswer; body: string }> {
  const done = setup.router.route(chatRequest(part), NEVER)
    .then(async (answer) => ({ answer, body: await textOf(answer) }));
  // A rejection is the caller's to see, after time has passed.
  done.catch(() => {});
  await setup.clock.advance(200);
  return await done;
}

function assertAtRest(setup: RouterSetup): void {
  assert.equal(setup.router.inFlight(), 0, "something is in flight");
  assert.equal(setup.clock.pending, 0, "a timer waits");
  for (const engine of [setup.local, ...setup.peers]) {
    assert.equal(engine.running, 0, "an engine runs");
  }
}

Deno.test("route gives a stream to the next candidate while the client has seen no content (SSE-06)", async () => {
  const broken = new Error("reset");
  const scripts: readonly Script[] = [
    { kind: "throw", at: "start", error: new Fault("link_failed", "x") },
    { kind: "throw", at: "answer", error: new Fault("engine_failed", "x") },
    { kind: "throw", at: "answer", error: new TypeError("bug") },
    { kind: "answer", status: 503, contentType: "text/plain", steps: ["no"] },
    { kind: "answer", status: 500, steps: [{ hang: true }] },
    { kind: "answer", steps: [{ fail: broken }] },
    { kind: "answer", steps: [ROLE, { fail: broken }] },
    { kind: "answer", steps: [ROLE, ": wait\n\n"] },
    { kind: "answer", steps: [ROLE, finish()] },
    { kind: "answer", steps: [ROLE, event({ error: { message: "oom" } })] },
    { kind: "answer", steps: [ROLE, text("half") + event({ error: "oom" })] },
    { kind: "answer", steps: ["data: {broken\n\n", { hang: true }] },
  ];
  for (const [index, script] of scripts.entries()) {
    const setup = setUpRouter(() => script, [() => answering("fine")]);
    const { answer, body } = await ask(setup);
    assert.equal(answer.node, nodeIdOf(2), `script ${index}`);
    assert.equal(
      body,
      ROLE + text("fine") + finish() + DONE,
      `script ${index}`,
    );
    const attempts = setup.router.decision(answer.decision)?.attempts;
    assert.deepEqual(attempts?.map((one) => one.outcome), [
      "failed",
      "answered",
    ]);
    assertAtRest(setup);
  }
});

Deno.test("route ends a stream that broke after content in an error event, and asks nobody else (SSE-04, SSE-06)", async () => {
  const endings: readonly Script[] = [
    {
      kind: "answer",
      steps: [ROLE, text("half"), { fail: new Error("reset") }],
    },
    { kind: "answer", steps: [ROLE, text("half")] },
    { kind: "answer", steps: [ROLE, text("half"), 'data: {"choices":[{"del'] },
    { kind: "answer", steps: [ROLE, text("half"), event({ error: "oom" })] },
  ];
  for (const script of endings) {
    const setup = setUpRouter(() => script, [() => answering("again")]);
    const { answer, body } = await ask(setup);
    const [role, half, error, rest] = body.split("\n\n");
    assert.equal(`${role}\n\n${half}\n\n`, ROLE + text("half"));
    assert.equal(rest, "");
    const { message, type, code, origin } = JSON.parse(
      (error ?? "").slice("data: ".length),
    ).error;
    assert(message.length > 0);
    assert.deepEqual([type, code, origin], [
      "server_error",
      "engine_failed",
      "engine",
    ]);
    assert.equal(setup.peers[0]?.attempts.length, 0);
    const record = setup.router.decision(answer.decision);
    assert.equal(record?.attempts[0]?.outcome, "broken_off");
    assert.equal(
      setup.metrics.counts.get(
        "covey_requests_total{outcome=broken_off,capability=chat}",
      ),
      1,
    );
    assertAtRest(setup);
  }
});

Deno.test("route collects an answer that is no stream, so that it fails over until it is complete", async () => {
  const scripts: readonly Script[] = [
    {
      kind: "answer",
      contentType: "application/json",
      steps: ['{"choi', { fail: 1 }],
    },
    { kind: "answer", contentType: "application/json", steps: ['{"choi'] },
    {
      kind: "answer",
      contentType: "application/json",
      steps: ['{"error":"x"}'],
    },
    { kind: "answer", status: 500, contentType: "application/json", steps: [] },
  ];
  for (const script of scripts) {
    const setup = setUpRouter(() => script, [() => ({
      kind: "answer",
      contentType: "application/json",
      steps: [WHOLE.slice(0, 9), "", WHOLE.slice(9)],
    })]);
    const { answer, body } = await ask(setup, { stream: false });
    assert.equal(answer.status, 200);
    assert.equal(body, WHOLE);
    assertAtRest(setup);
  }
});

Deno.test("route asks another engine for a list of vectors that ended early without a word (EMB-03)", async () => {
  const list = '{"object":"list","data":[{"index":0,"embedding":[1]}]}';
  const listed = (...steps: readonly string[]): Script => ({
    kind: "answer",
    contentType: "application/json",
    steps,
  });
  const offers = [offerOf({ capabilities: ["embedding", "rerank"] })];
  for (const early of [listed(), listed(list.slice(0, 30)), listed("\n ")]) {
    for (const capability of ["embedding", "rerank"] as const) {
      const setup = setUpRouter(() => early, [
        () => listed(list.slice(0, -1), "} \n"),
      ], { offers });
      const part = { capability, stream: false, body: { input: "hi" } };
      const { answer, body } = await ask(setup, part);
      assert.equal(answer.node, nodeIdOf(2));
      assert.equal(body, `${list} \n`);
      assertAtRest(setup);
    }
  }
});

Deno.test("route passes the engine's 4xx on unchanged, asks nobody else, and opens no breaker (RTE-01)", async () => {
  for (const status of [400, 401, 404, 413, 422]) {
    const setup = setUpRouter(
      (_, n) =>
        n <= 20
          ? {
            kind: "answer",
            status,
            contentType: "application/json",
            steps: ['{"e":1}'],
          }
          : answering("good"),
      [() => answering("peer")],
    );
    for (let n = 0; n < 20; n++) {
      const { answer, body } = await ask(setup);
      assert.equal(answer.status, status);
      assert.equal(body, '{"e":1}');
    }
    const { answer } = await ask(setup);
    assert.equal(answer.node, nodeIdOf(1));
    assert.equal(setup.peers[0]?.attempts.length, 0);
    assertAtRest(setup);
  }
});

Deno.test("route opens a breaker at five failures and comes back with one probe (RTE-01)", async () => {
  let broken = true;
  const setup = setUpRouter(
    () => broken ? { kind: "answer", status: 500, steps: [] } : answering("me"),
    [() => answering("peer")],
  );
  for (let n = 0; n < 8; n++) await ask(setup);
  assert.equal(setup.local.attempts.length, 5);
  broken = false;
  await setup.clock.advance(30_000);
  for (let n = 0; n < 3; n++) {
    assert.equal((await ask(setup)).answer.node, nodeIdOf(1));
  }
});

Deno.test("route keeps a fast-failing engine from looking idle (RTE-03)", async () => {
  for (const status of [503, 409]) {
    const setup = setUpRouter(
      () => ({ kind: "answer", status, waitMs: 1, steps: ["busy"] }),
      [() => answering("fine")],
    );
    for (let n = 0; n < 100; n++) {
      assert.equal((await ask(setup)).answer.node, nodeIdOf(2));
    }
    assert(setup.local.attempts.length <= 5, `${setup.local.attempts.length}`);
  }
});

Deno.test("route lets an engine rest that answered 429, and says when all rest (RET-03, RET-04)", async () => {
  const limited: Script = {
    kind: "answer",
    status: 429,
    retryAfter: "7",
    steps: ["slow"],
  };
  const setup = setUpRouter((_, n) => n === 1 ? limited : answering("late"));
  const expected = { code: "cooling_down", retryAfterMs: 7000 };
  await assert.rejects(ask(setup), expected);
  const pinned = { kind: "node", node: nodeIdOf(1) } as const;
  await assert.rejects(ask(setup, { source: pinned }), (fault: Fault) => {
    assert.equal(fault.code, "cooling_down");
    assert(fault.retryAfterMs !== null);
    return fault.retryAfterMs > 1000 && fault.retryAfterMs < 7000;
  });
  assert.equal(setup.local.attempts.length, 1);
  await setup.clock.advance(7000);
  assert.equal((await ask(setup)).answer.status, 200);

  const two = setUpRouter(() => limited, [() => answering("peer")]);
  assert.equal((await ask(two)).answer.node, nodeIdOf(2));
  assertAtRest(two);
});

Deno.test("route answers queue_full with the smallest wait when every queue is full", async () => {
  const full = (retryAfterMs: number): Script => ({
    kind: "refuse",
    result: {
      kind: "refused",
      reason: "queue_full",
      message: "full",
      retryAfterMs,
    },
  });
  const setup = setUpRouter(() => answering("x"), [
    () => full(900),
    () => full(400),
  ], { offers: [offerOf({ model: "other" })], peerOffers: [offerOf()] });
  await assert.rejects(ask(setup), { code: "queue_full", retryAfterMs: 400 });
  assert.equal(
    setup.metrics.counts.get("covey_attempts_total{outcome=refused}"),
    2,
  );
  assertAtRest(setup);
});

Deno.test("route goes to the next candidate when one refuses, whatever its reason", async () => {
  const reasons = [
    "queue_full",
    "duplicate_attempt",
    "draining",
    "model_not_here",
    "not_lent",
  ] as const;
  for (const reason of reasons) {
    const setup = setUpRouter(() => answering("x"), [
      () => ({
        kind: "refuse",
        result: { kind: "refused", reason, message: "no", retryAfterMs: null },
      }),
      () => answering("second"),
    ], { offers: [offerOf({ model: "other" })], peerOffers: [offerOf()] });
    assert.equal((await ask(setup)).answer.node, nodeIdOf(3));
    assertAtRest(setup);
  }
});

Deno.test("route tries at most four engines", async () => {
  const broken = (): Script => ({ kind: "answer", status: 500, steps: [] });
  const setup = setUpRouter(broken, Array(6).fill(broken));
  await assert.rejects(ask(setup), { code: "engine_failed", origin: "engine" });
  const asked = [setup.local, ...setup.peers].map((one) => one.attempts.length);
  assert.deepEqual(asked, [1, 1, 1, 1, 0, 0, 0]);
  assertAtRest(setup);
});
