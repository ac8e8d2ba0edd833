import assert from "node:assert/strict";
import type {
  DecisionRecord,
  InferenceRequest,
  JsonObject,
  NodeId,
  RoutedAnswer,
} from "../../src/domain/mod.ts";
import { placeOf, PrefixBook } from "../../src/router/prefix_book.ts";
import { PrefixChains } from "../../src/router/prefix_chain.ts";
import { chatRequest } from "../fakes/chat_request.ts";
import { nodeIdOf } from "../fakes/scripted_engine.ts";
import {
  CHAT,
  type SimulatedNodes,
  simulatedNodes,
  until,
} from "../fakes/simulated_pair.ts";

const NEVER = new AbortController().signal;
const KEY = new Uint8Array(32).fill(7);
const CHAINS = new PrefixChains(KEY);

/** A conversation that grows by an answer and a question each turn. */
function opening(system: string, question: string): JsonObject[] {
  return [
    { role: "system", content: system },
    { role: "user", content: question },
  ];
}

function turnOf(
  messages: readonly JsonObject[],
  conversation: string | null = null,
): InferenceRequest {
  const characters = JSON.stringify(messages).length;
  return chatRequest({
    stream: false,
    body: { messages: [...messages] },
    conversation,
    promptTokens: Math.ceil(characters / 4),
    maxOutputTokens: 20,
  });
}

async function take(
  { clock, router }: SimulatedNodes,
  messages: JsonObject[],
  conversation: string | null = null,
): Promise<RoutedAnswer> {
  const answer = await until(
    clock,
    router.route(turnOf(messages, conversation), NEVER),
  );
  const json = JSON.parse(await new Response(answer.body).text());
  messages.push(json.choices[0].message);
  messages.push({ role: "user", content: `go on ${messages.length}` });
  return answer;
}

Deno.test("ten-turn conversations keep their node while all are idle, each for itself (RTE-04)", async () => {
  await using setup = simulatedNodes({
    models: [CHAT],
    faults: [{}, {}, {}],
    hopMs: 1,
  });
  const system = "You are a helpful assistant. ".repeat(140);
  let kept = 0;
  let turns = 0;
  const homes = new Map<NodeId, number>();
  for (let one = 0; one < 4; one++) {
    const messages = opening(system, `question ${one}`);
    let home: NodeId | null = null;
    for (let turn = 0; turn < 10; turn++) {
      const { node } = await take(setup, messages);
      if (home !== null) {
        turns++;
        if (node === home) kept++;
      }
      home = node;
    }
    if (home !== null) homes.set(home, (homes.get(home) ?? 0) + 1);
  }
  assert(kept / turns >= 0.9, `${kept} of ${turns} turns kept their node`);
});

for (const isNamed of [false, true]) {
  const how = isNamed ? "with names of their own" : "without names";
  Deno.test(`conversations ${how} and one system prompt spread over equal members when many talk at once, and leave home only for what is sooner (RTE-04)`, async () => {
    await using setup = simulatedNodes({
      models: [CHAT],
      faults: [{}, {}, {}],
      hopMs: 1,
    });
    const system = "You are a helpful assistant. ".repeat(140);
    const homes = new Map<NodeId, number>();
    let stayed = 0;
    let moved = 0;
    const talk = async (one: number) => {
      const messages = opening(system, `question ${one}`);
      let home: NodeId | null = null;
      for (let turn = 0; turn < 3; turn++) {
        const { decision, node } = await take(
          setup,
          messages,
          isNamed ? `session-${one}` : null,
        );
        home ??= node;
        if (home === node) {
          if (turn > 0) stayed++;
          continue;
        }
        moved++;
        checkMove(setup.router.decision(decision), home, node);
        home = node;
      }
      if (home !== null) homes.set(home, (homes.get(home) ?? 0) + 1);
    };
    for (const batch of [1, 11]) {
      await Promise.all(
        Array.from({ length: 10 }, (_, n) => talk(batch + n)),
      );
    }
    const most = Math.max(...homes.values());
    assert(most <= 12, `one member has ${most} of 20 conversations`);
    assert(stayed > 0 && stayed + moved === 40, `${stayed}, ${moved}`);
  });
}

/** Nobody leaves home but for a queue there, and for somebody who is sooner by all that is predicted. */
function checkMove(
  record: DecisionRecord | undefined,
  home: NodeId,
  node: NodeId,
): void {
  assert(record !== undefined);
  // What waited at home until another was free has been moved there.
  if (record.attempts.length > 1) return;
  const at = (one: NodeId) => {
    const found = record.candidates.find((other) => other.node === one);
    assert(found !== undefined);
    const { factor, terms: { queueMs } } = found;
    // A queue is weighed half as much again.
    return { queueMs, ms: found.estimateMs + queueMs * factor / 2 };
  };
  assert(at(home).queueMs > 0, "home was free");
  assert(
    at(node).ms <= at(home).ms * 1.05,
    `${at(node).ms} ms there, ${at(home).ms} ms at home`,
  );
}

Deno.test("a conversation leaves its node exactly when the wait exceeds the prefill saved (RTE-04)", async () => {
  const saved = 900;
  for (
    const [busyMs, stays] of [
      [0, true],
      [300, true],
      [500, true],
      [700, false],
      [2000, false],
    ] as const
  ) {
    await using setup = simulatedNodes({
      models: [{ ...CHAT, slots: 1 }],
      faults: [{}, {}],
      hopMs: 1,
    });
    const { clock, router } = setup;
    const messages = opening("x".repeat(saved * 4), "hello");
    const { node } = await take(setup, messages);
    assert.equal(node, nodeIdOf(1));
    const busy = busyMs === 0 ? null : router.route({
      ...turnOf([{ role: "user", content: "other" }]),
      stream: true,
      promptTokens: 1,
      source: { kind: "local" },
      maxOutputTokens: busyMs / 10,
    }, NEVER);
    const next = await take(setup, messages);
    assert.equal(
      next.node === node,
      stays,
      `busy for ${busyMs} ms, ${saved} ms saved`,
    );
    const other = await until(clock, Promise.resolve(busy));
    await until(clock, new Response(other?.body ?? null).text());
  }
});

Deno.test("PrefixBook prices what is cached, of one client, as long as it lasts", () => {
  const book = new PrefixBook();
  const messages = opening("s".repeat(3000), "q");
  const first = turnOf(messages);
  const grown = turnOf([
    ...messages,
    { role: "assistant", content: "a".repeat(400) },
    { role: "user", content: "more" },
  ]);
  const place = placeOf("n/e", "m");
  const left = { answerTokens: 100, capacity: 1, untilMs: 1000 };
  const look = (request: InferenceRequest, nowMs = 10) =>
    book.look(CHAINS.chain(request), nowMs).get(place) ?? 0;
  assert.equal(look(first), 0);
  book.keep(place, CHAINS.chain(first), left, 0);
  assert.equal(look(first), first.promptTokens);
  const cached = look(grown);
  assert(cached > first.promptTokens, "the answer is cached as well");
  assert(cached < grown.promptTokens, "the newest question is not");
  assert.equal(look(grown, 1000), 0, "the model is unloaded");
  assert.equal(look({ ...grown, client: "another" }), 0);
  assert.equal(look({ ...grown, model: "other" }), 0);
  const unlike = turnOf(opening("t".repeat(3000), "q"));
  book.keep(place, CHAINS.chain(unlike), left, 0);
  assert.equal(look(grown), 0, "one slot, taken by another prompt");
  assert.equal(look(unlike), unlike.promptTokens);
});

Deno.test("PrefixBook knows a named conversation whose prompt it cannot read", () => {
  const book = new PrefixBook();
  const request = chatRequest({
    capability: "completion",
    conversation: "session-1",
    body: { prompt: [1, 2, 3] },
    promptTokens: 500,
  });
  const place = placeOf("n/e", "m");
  const left = { answerTokens: 10, capacity: 4, untilMs: 1000 };
  book.keep(place, CHAINS.chain(request), left, 0);
  assert.equal(book.look(CHAINS.chain(request), 1).get(place), 500);
  const other = { ...request, conversation: "session-12" };
  assert.equal(book.look(CHAINS.chain(other), 1).get(place), undefined);
});

Deno.test("PrefixChains needs the process's key, and tells tools and order apart", () => {
  const messages = opening("a", "b");
  const last = (request: InferenceRequest, key = KEY) =>
    new PrefixChains(key).chain(request).marks.at(-1)?.digest;
  const request = turnOf(messages);
  assert.equal(last(request), last(turnOf(messages)));
  assert.notEqual(last(request), last(request, new Uint8Array(32)));
  assert.notEqual(last(request), last(turnOf(messages.toReversed())));
  const tools = { ...request, body: { ...request.body, tools: [{}] } };
  assert.notEqual(last(request), last(tools));
});
