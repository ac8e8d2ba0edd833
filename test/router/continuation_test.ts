import assert from "node:assert/strict";
import {
  type InferenceRequest,
  isJsonObject,
  type JsonObject,
  type RoutedAnswer,
} from "../../src/domain/mod.ts";
import { Continuation } from "../../src/router/continuation.ts";
import { isResumable } from "../../src/router/resumable.ts";
import { chatRequest } from "../fakes/chat_request.ts";
import { event, finish, ROLE, text } from "../fakes/scripted_engine.ts";
import {
  CHAT,
  type SimulatedNodes,
  simulatedNodes,
  until,
} from "../fakes/simulated_pair.ts";

const NEVER = new AbortController().signal;

function asked(part: Partial<InferenceRequest> = {}): InferenceRequest {
  return chatRequest({
    includeUsage: true,
    maxOutputTokens: 100,
    resumable: true,
    ...part,
  });
}

interface Read {
  readonly text: string;
  readonly chunks: readonly JsonObject[];
  readonly raw: string;
}

async function read(
  { clock }: SimulatedNodes,
  answer: RoutedAnswer,
): Promise<Read> {
  const raw = await until(clock, new Response(answer.body).text());
  const chunks = raw.split("\n\n").filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice("data: ".length)) as JsonObject);
  const words = chunks.map((chunk) => {
    const [choice] = Array.isArray(chunk.choices) ? chunk.choices : [];
    const delta = isJsonObject(choice) ? choice.delta : undefined;
    return isJsonObject(delta) && typeof delta.content === "string"
      ? delta.content
      : "";
  });
  return { text: words.join(""), chunks, raw };
}

async function ask(
  setup: SimulatedNodes,
  request: InferenceRequest,
): Promise<Read & { readonly answer: RoutedAnswer }> {
  const answer = await until(setup.clock, setup.router.route(request, NEVER));
  return { ...await read(setup, answer), answer };
}

const DIES = { dieAfterTokens: 40 };

Deno.test("an answer whose engine dies at token 40 of 100 goes on elsewhere, ten times, as if nothing had been (SSE-06)", async () => {
  await using whole = simulatedNodes({ models: [CHAT], faults: [{}] });
  const expected = await ask(whole, asked());
  for (let time = 1; time <= 10; time++) {
    await using setup = simulatedNodes({ models: [CHAT], faults: [DIES, {}] });
    const got = await ask(setup, asked());
    assert.equal(got.text, expected.text);
    assert.equal(got.chunks.length, expected.chunks.length, "one role chunk");
    assert.equal(new Set(got.chunks.map(({ id }) => id)).size, 1);
    assert.equal(new Set(got.chunks.map(({ created }) => created)).size, 1);
    assert.deepEqual(
      got.chunks.flatMap(({ usage }) => usage ?? []),
      expected.chunks.flatMap(({ usage }) => usage ?? []),
    );
    assert(got.raw.endsWith("data: [DONE]\n\n"));
    const record = setup.router.decision(got.answer.decision);
    assert.deepEqual(
      record?.attempts.map(({ outcome, resumedAtTokens }) => [
        outcome,
        resumedAtTokens,
      ]),
      [["broken_off", undefined], ["answered", 40]],
    );
    assert.equal(record?.actual?.outputTokens, 100);
    assert.equal(setup.router.inFlight(), 0);
  }
});

Deno.test("an answer survives two deaths, and completions go on as chats do", async () => {
  const request = asked({
    capability: "completion",
    body: { prompt: "Once" },
  });
  await using setup = simulatedNodes({
    models: [CHAT],
    faults: [DIES, DIES, {}],
  });
  const got = await ask(setup, request);
  const record = setup.router.decision(got.answer.decision);
  assert.deepEqual(
    record?.attempts.map(({ resumedAtTokens }) => resumedAtTokens),
    [undefined, 40, 80],
  );
  assert(got.raw.includes('"w41 "') && got.raw.includes('"w100 "'));
  assert.equal(got.raw.match(/"w40 "/g)?.length, 1);
  assert(got.raw.endsWith("data: [DONE]\n\n"));
});

const MESSAGES = [{ role: "user", content: "x" }];

/** Why an answer must not go on elsewhere, with the request that has it so. */
const CONDITIONS: readonly (readonly [string, InferenceRequest])[] = [
  ["nobody wished for it", asked({ resumable: false })],
  ["it has tools", asked({ body: { messages: MESSAGES, tools: [{}] } })],
  [
    "it has more than one choice",
    asked({ body: { messages: MESSAGES, n: 2 } }),
  ],
  [
    "it has a grammar",
    asked({ body: { messages: MESSAGES, grammar: "root ::= x" } }),
  ],
  [
    "it has log probabilities",
    asked({ body: { messages: MESSAGES, logprobs: true } }),
  ],
];

for (const [why, request] of CONDITIONS) {
  Deno.test(`an answer ends in one error event, and no second engine is asked, where ${why}`, async () => {
    await using setup = simulatedNodes({ models: [CHAT], faults: [DIES, {}] });
    await endsBroken(setup, request);
  });
}

Deno.test("an answer ends in one error event, and no second engine is asked, where it has a schema", async () => {
  const value = "long ".repeat(100);
  const request = asked({
    body: {
      messages: MESSAGES,
      response_format: {
        type: "json_schema",
        json_schema: { schema: { const: value } },
      },
    },
  });
  await using setup = simulatedNodes({ models: [CHAT], faults: [DIES, {}] });
  await endsBroken(setup, request, (text) => {
    assert(text.length > 1 && JSON.stringify(value).startsWith(text), text);
  });
});

Deno.test("an answer ends in one error event where nobody else has the model", async () => {
  await using setup = simulatedNodes({ models: [CHAT], faults: [DIES] });
  await endsBroken(setup, asked());
});

Deno.test("an answer ends in one error event where the only other engine has other weights, which is not asked", async () => {
  await using setup = simulatedNodes({ models: [CHAT], faults: [DIES, {}] });
  const [, far] = setup.engines;
  assert(far !== undefined);
  const view = far.view.bind(far);
  far.view = () => {
    const { offers, ...rest } = view();
    return {
      ...rest,
      offers: offers.map((offer) => ({ ...offer, root: "another" })),
    };
  };
  await endsBroken(setup, asked());
});

function isFortyWords(text: string): void {
  assert(text.endsWith("w40 "), "all that came before");
  assert.equal(text.match(/w\d+ /g)?.length, 40, "and nothing twice");
}

async function endsBroken(
  setup: SimulatedNodes,
  request: InferenceRequest,
  check: (text: string) => void = isFortyWords,
): Promise<void> {
  const started: string[] = [];
  for (const engine of setup.engines) {
    const start = engine.start.bind(engine);
    engine.start = (attempt, signal) => {
      started.push(engine.node);
      return start(attempt, signal);
    };
  }
  const { raw, text: words, answer } = await ask(setup, request);
  check(words);
  const events = raw.trimEnd().split("\n\n");
  assert.equal(events.filter((one) => one.includes('"error"')).length, 1);
  const { error } = JSON.parse(events.at(-1)?.slice("data: ".length) ?? "");
  assert.equal(typeof error.message, "string");
  assert(!raw.includes("[DONE]"));
  assert.deepEqual(started, [setup.engines[0]?.node]);
  assert.equal(
    setup.router.decision(answer.decision)?.attempts.length,
    1,
  );
  assert.equal(
    setup.metrics.counts.get(
      `covey_requests_total{outcome=broken_off,capability=chat}`,
    ),
    1,
  );
}

Deno.test("a client that leaves while another engine is to go on frees everything", async () => {
  await using setup = simulatedNodes({
    models: [CHAT],
    faults: [DIES, { stallMs: 5000 }],
  });
  const { clock, router } = setup;
  const client = new AbortController();
  const answer = await until(clock, router.route(asked(), client.signal));
  const work = new Response(answer.body).text();
  work.catch(() => {});
  await clock.advance(1000);
  assert.equal(router.decision(answer.decision)?.attempts.length, 2);
  client.abort("left");
  await assert.rejects(until(clock, work));
  assert.equal(router.inFlight(), 0);
  assert.deepEqual(
    router.decision(answer.decision)?.attempts.map(({ outcome }) => outcome),
    ["broken_off", "cancelled"],
  );
});

Deno.test("isResumable refuses whatever hangs on more than the text so far", () => {
  assert.equal(isResumable(asked()), true);
  const messages = [{ role: "user", content: "x" }];
  const tool = [{ type: "function" }];
  for (
    const part of [
      { stream: false },
      { resumable: false },
      { needs: ["tools"] },
      { capability: "embedding" },
      { body: { messages, tools: tool } },
      { body: { messages, n: 2 } },
      { body: { messages, grammar: "root ::= x" } },
      { body: { messages, response_format: { type: "json_object" } } },
      { body: { messages, logprobs: true } },
      {
        body: {
          messages: [{ role: "user", content: [{ type: "image_url" }] }],
        },
      },
      { body: { messages: [{ role: "assistant", tool_calls: tool }] } },
      { capability: "completion", body: { prompt: ["a", "b"] } },
      { capability: "completion", body: { prompt: "a", echo: true } },
    ] as const
  ) assert.equal(isResumable(asked(part)), false, JSON.stringify(part));
});

function bytesOf(...events: readonly string[]): Uint8Array[] {
  return events.map((one) => new TextEncoder().encode(one));
}

function shown(events: readonly Uint8Array[]): string {
  return events.map((one) => new TextDecoder().decode(one)).join("");
}

Deno.test("Continuation holds back what may begin a stop string, and half a character", () => {
  const answer = new Continuation(["STOP"]);
  assert.equal(answer.pass(bytesOf(ROLE)).length, 1);
  assert.match(shown(answer.pass(bytesOf(text("one ST")))), /"one "/);
  assert.deepEqual(answer.point(), { text: "one ", tokens: 1 });
  assert.match(shown(answer.pass(bytesOf(text("ay\ud83d")))), /"STay"/);
  assert.match(shown(answer.pass(bytesOf(text("\ude00!")))), /"😀!"/);
  assert.deepEqual(answer.point(), { text: "one STay😀!", tokens: 3 });
  assert.deepEqual(answer.pass(bytesOf(text("STO"))), []);
  assert.deepEqual(answer.point(), { text: "one STay😀!", tokens: 3 });
  const last = shown(answer.pass(bytesOf(finish())));
  assert(last.indexOf('"STO"') < last.indexOf('"stop"'));
});

Deno.test("Continuation gives up where an answer is more than text", () => {
  const answer = new Continuation([]);
  answer.pass(bytesOf(
    text("a"),
    event({ choices: [{ index: 0, delta: { reasoning_content: "hm" } }] }),
  ));
  assert.equal(answer.point(), null);
});
