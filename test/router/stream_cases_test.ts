import assert from "node:assert/strict";
import { type NodeStanding, parseSource } from "../../src/domain/mod.ts";
import {
  DEFAULT_COOLDOWN_MS,
  MAX_COOLDOWN_MS,
} from "../../src/router/cooldown.ts";
import { chatRequest } from "../fakes/chat_request.ts";
import { type RouterSetup, setUpRouter } from "../fakes/router_setup.ts";
import {
  answering,
  DONE,
  finish,
  nodeIdOf,
  offerOf,
  type Script,
  text,
} from "../fakes/scripted_engine.ts";

const NEVER = new AbortController().signal;

function restsOf({ router }: RouterSetup): readonly (number | null)[] {
  return router.standing().flatMap(({ engines }: NodeStanding) =>
    engines.map(({ restsForMs }) => restsForMs ?? null)
  );
}

Deno.test("SSE-03 comments are no first token, and keep a slow stream alive", async () => {
  const wait = [{ waitMs: 9_000 }, ": alive\n\n"];
  const setup = setUpRouter(() => ({
    kind: "answer",
    steps: [
      ...wait,
      text("a"),
      ...wait,
      ...wait,
      text("b"),
      finish(),
      DONE,
    ],
  }));
  const asked = setup.router.route(chatRequest(), NEVER);
  await setup.clock.advance(9_500);
  const answer = await asked;
  const told = new Response(answer.body).text();
  await setup.clock.advance(20_000);
  const all = await told;
  assert(all.endsWith(DONE), all);
  assert.doesNotMatch(all, /error|^data: :/m);
  const { actual } = setup.router.decision(answer.decision) ?? {};
  assert.equal(actual?.ttftMs, 9_000);
});

Deno.test("RET-01 each form of Retry-After rests an engine as long as it says, and status shows it", async () => {
  const table: readonly (readonly [(nowMs: number) => string, number])[] = [
    [() => "3", 3_000],
    [() => "120 ", 120_000],
    [(nowMs) => new Date(nowMs + 3_000).toUTCString(), 3_000],
    [() => "1.5", DEFAULT_COOLDOWN_MS],
    [() => "-3", DEFAULT_COOLDOWN_MS],
    [() => "+3", DEFAULT_COOLDOWN_MS],
    [() => "soon", DEFAULT_COOLDOWN_MS],
    [() => "3, 5", DEFAULT_COOLDOWN_MS],
    [() => "", DEFAULT_COOLDOWN_MS],
    [() => "99999999999", MAX_COOLDOWN_MS],
  ];
  for (const [header, restMs] of table) {
    const setup = setUpRouter(() => ({
      kind: "answer",
      status: 429,
      retryAfter: header(setup.clock.now()),
      steps: ["slow down"],
    }));
    const said = header(setup.clock.now());
    const refused = await setup.router.route(chatRequest(), NEVER)
      .catch((error) => error);
    assert.equal(refused.code, "cooling_down", said);
    const [rest] = restsOf(setup);
    assert(
      rest !== null && rest !== undefined && Math.abs(rest - restMs) <= 1_000,
      `"${said}": ${rest} ms, not ${restMs}`,
    );
    await setup.clock.advance(Math.max(0, rest - 600));
    await setup.router.route(chatRequest(), NEVER).catch(() => {});
    assert.equal(setup.local.attempts.length, 1, `${said}: asked too soon`);
    await setup.clock.advance(700);
    await setup.router.route(chatRequest(), NEVER).catch(() => {});
    assert.equal(setup.local.attempts.length, 2, `${said}: not asked again`);
  }
});

Deno.test("RET-03 of several 429s at once the longest rest holds, and clients see none while another serves", async () => {
  const limited = (n: number): Script => ({
    kind: "answer",
    status: 429,
    waitMs: 100 + n,
    ...(n === 1 ? { retryAfter: "1" } : {}),
    steps: ["slow down"],
  });
  const setup = setUpRouter(
    (_, n) => limited(n),
    [() => answering("fine")],
    {
      offers: [offerOf({
        queue: { slots: 8, runningMs: [], waitingMs: [] },
      })],
    },
  );
  const ask = async () => {
    const answer = await setup.router.route(chatRequest(), NEVER);
    return [answer.node, await new Response(answer.body).text()];
  };
  const many = Array.from({ length: 8 }, ask);
  await setup.clock.advance(2_000);
  for (const [node, told] of await Promise.all(many)) {
    assert.equal(node, nodeIdOf(2));
    assert.match(told ?? "", /fine/);
  }
  const asked = setup.local.attempts.length;
  assert(asked > 1, "several were refused");
  const rest = restsOf(setup)[0] ?? 0;
  assert(rest > DEFAULT_COOLDOWN_MS - 3_000, `${rest} ms`);
  const more = Array.from({ length: 10 }, ask);
  await setup.clock.advance(2_000);
  for (const [node] of await Promise.all(more)) {
    assert.equal(node, nodeIdOf(2));
  }
  assert.equal(setup.local.attempts.length, asked);
});

Deno.test("EMB-04 an embedding goes to whoever embeds, however near the chat engine of that name", async () => {
  const vectors: Script = {
    kind: "answer",
    contentType: "application/json",
    steps: ['{"data":[{"index":0,"embedding":[1]}]}'],
  };
  const setup = setUpRouter(() => answering("chat"), [() => vectors], {
    offers: [offerOf({ capabilities: ["chat"] })],
    peerOffers: [offerOf({ capabilities: ["embedding"] })],
  });
  const embed = chatRequest({
    capability: "embedding",
    stream: false,
    body: { input: "hi" },
  });
  for (const source of ["unsaid", "cluster"] as const) {
    const answer = await setup.router.route(
      { ...embed, source: { kind: source } },
      NEVER,
    );
    await answer.body.cancel();
    assert.equal(answer.node, nodeIdOf(2));
  }
  const at = (text: string) => parseSource(text) ?? { kind: "unsaid" as const };
  for (
    const request of [
      { ...embed, source: at("local") },
      chatRequest({ source: at(`node:${nodeIdOf(2)}`) }),
      chatRequest({ capability: "rerank", stream: false }),
    ]
  ) {
    await assert.rejects(
      setup.router.route(request, NEVER),
      (error: Error & { code?: string }) =>
        error.code === "wrong_capability" || error.code === "no_candidate",
    );
  }
  assert.equal(setup.local.attempts.length, 0);
  assert.equal(setup.peers[0]?.attempts.length, 2);
});
