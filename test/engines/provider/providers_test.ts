import assert from "node:assert/strict";
import {
  type Engine,
  Fault,
  type JsonObject,
  Secret,
} from "../../../src/domain/mod.ts";
import {
  type ProviderName,
  PROVIDERS,
} from "../../../src/engines/provider/provider_table.ts";
import { createProviderEngine } from "../../../src/engines/provider/providers.ts";
import { createSeededEntropy, ManualClock } from "../../../src/platform/mod.ts";
import { createRouter } from "../../../src/router/mod.ts";
import { chatRequest } from "../../fakes/chat_request.ts";
import { CountingMetrics } from "../../fakes/counting_metrics.ts";
import { QuietLog } from "../../fakes/quiet_log.ts";
import {
  answering,
  nodeIdOf,
  offerOf,
  ScriptedEngine,
} from "../../fakes/scripted_engine.ts";
import { openAiAnswer } from "../../fakes/upstream_server.ts";

const KEY = "sk-0123456789-not-to-be-seen";

interface SeenCall {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly redirect: string;
  // deno-lint-ignore no-explicit-any
  readonly body: any;
}

/** A provider whose network is a function: no byte leaves this process. */
async function setUpProvider(
  name: ProviderName,
  answer: (call: SeenCall) => Response | undefined = () => undefined,
  isLent = false,
  own: (clock: ManualClock) => Engine | null = () => null,
) {
  const clock = new ManualClock();
  const log = new QuietLog();
  const calls: SeenCall[] = [];
  const node = nodeIdOf(1);
  const engine = createProviderEngine({
    account: { name, key: new Secret(KEY) },
    isLent,
    node,
    nodeName: "node-1",
    clock,
    log,
    fetch: (url, init) => {
      const call: SeenCall = {
        method: init.method ?? "GET",
        url: new URL(url),
        headers: new Headers(init.headers),
        redirect: String(init.redirect),
        body: typeof init.body === "string" ? JSON.parse(init.body) : null,
      };
      calls.push(call);
      return new Promise((resolve) => resolve(answer(call) ?? usual(call)));
    },
  });
  await engine.refresh();
  const beside = own(clock);
  const router = createRouter({
    self: { id: node, name: "node-1" },
    localEngines: [engine, ...beside === null ? [] : [beside]],
    peers: () => [],
    policy: "local_first",
    maxQueue: 8,
    clock,
    entropy: createSeededEntropy(7),
    log,
    metrics: new CountingMetrics(),
  });
  return {
    calls,
    clock,
    engine,
    log,
    router,
    async ask(model: string, body: JsonObject = {}) {
      const asked = chatRequest({ model });
      const answer = await router.route(
        { ...asked, body: { ...asked.body, ...body } },
        new AbortController().signal,
      );
      const text = await new Response(answer.body).text();
      return { status: answer.status, text };
    },
    async [Symbol.asyncDispose]() {
      await router[Symbol.asyncDispose]();
      await engine[Symbol.asyncDispose]();
    },
  };
}

function usual({ url, body }: SeenCall): Response {
  if (url.pathname.endsWith("/models")) {
    const ids = ["models/m", "text-embedding-3", "whisper-1"];
    return Response.json({ object: "list", data: ids.map((id) => ({ id })) });
  }
  const path = url.pathname.replace(/^.*(?=\/chat)/, "/v1");
  return openAiAnswer({ method: "POST", path, headers: {}, body }) ??
    new Response(null, { status: 404 });
}

Deno.test("a provider's key goes to its own host alone, over TLS, and follows no redirect", async () => {
  for (const name of Object.keys(PROVIDERS) as ProviderName[]) {
    await using setup = await setUpProvider(name);
    const model = setup.router.models().find(({ capabilities }) =>
      capabilities.includes("chat")
    );
    assert(model?.model.startsWith(`${name}/`) === true);
    assert.match((await setup.ask(model.model)).text, /\[DONE\]/);
    const { hostname } = new URL(PROVIDERS[name].base);
    for (const call of setup.calls) {
      assert.equal(call.url.protocol, "https:");
      assert.equal(call.url.hostname, hostname);
      assert.equal(call.redirect, "error");
      assert.doesNotMatch(call.url.href, /not-to-be-seen/);
    }
    const [list, chat] = setup.calls;
    const listKey = name === "anthropic"
      ? list?.headers.get("x-api-key")
      : list?.headers.get("authorization")?.replace("Bearer ", "");
    assert.equal(listKey, KEY);
    assert.equal(chat?.headers.get("authorization"), `Bearer ${KEY}`);
    assert.equal(chat?.url.href, `${PROVIDERS[name].base}/chat/completions`);
    assert.equal(chat?.body.model, name === "gemini" ? "m" : "models/m");
  }
});

Deno.test("a provider is not sent what it refuses a request for, which callers of another dialect never meant for it", async () => {
  for (
    const [name, known] of [
      ["openai", {}],
      ["groq", {}],
      ["openrouter", { top_k: 20, min_p: 0.1 }],
    ] as const
  ) {
    await using setup = await setUpProvider(name);
    const { status } = await setup.ask(`${name}/models/m`, {
      temperature: 0.5,
      top_k: 20,
      min_p: 0.1,
      repeat_penalty: 1.1,
      chat_template_kwargs: { enable_thinking: false },
    });
    assert.equal(status, 200);
    const usual = ["model", "messages", "stream", "stream_options"];
    const fields = Object.entries(setup.calls.at(-1)?.body)
      .filter(([field]) => !usual.includes(field));
    assert.deepEqual(Object.fromEntries(fields), {
      temperature: 0.5,
      ...known,
    });
  }
});

Deno.test("nothing is spent on a request that did not ask for the provider", async () => {
  await using setup = await setUpProvider("groq");
  for (const model of ["models/m", "m", "groq", "any"]) {
    await assert.rejects(
      setup.ask(model),
      (error) => error instanceof Fault && error.code === "model_not_found",
    );
  }
  assert.deepEqual(setup.calls.map(({ url }) => url.pathname), [
    "/openai/v1/models",
  ]);
});

Deno.test("a provider that can not be reached takes out its own models alone, within a minute, and comes back (health conditions)", async () => {
  let isDown = false;
  const own = (clock: ManualClock) =>
    new ScriptedEngine({
      clock,
      node: nodeIdOf(1),
      offers: [offerOf()],
      script: () => answering("from here"),
    });
  await using provider = await setUpProvider(
    "groq",
    () => {
      if (isDown) throw new TypeError("No route to host");
      return undefined;
    },
    true,
    own,
  );
  const { ask, calls, clock, engine, router } = provider;
  assert.match((await ask("groq/models/m")).text, /hello|hi|w/i);
  isDown = true;
  const before = calls.length;
  await clock.advance(45_000);
  const look = calls.slice(before).find(({ method }) => method === "HEAD");
  assert(look !== undefined, "looked at with the machine's other conditions");
  assert.equal(look.headers.get("authorization"), null, "without the key");
  assert.deepEqual(engine.view().availability, {
    kind: "unavailable",
    reason: "groq can not be reached",
  });
  await assert.rejects(ask("groq/models/m"), { code: "model_not_found" });
  assert.match((await ask("m")).text, /from here/);
  const [standing] = router.standing();
  assert.deepEqual(
    standing?.engines.map(({ availability, breaker }) => [
      availability.kind,
      breaker,
    ]),
    [["unavailable", "closed"], ["available", "closed"]],
  );
  assert.equal(router.report().conditions?.ok ?? true, true);
  isDown = false;
  await clock.advance(31_000);
  assert.equal(engine.view().availability.kind, "available");
});

Deno.test("peers hear of a provider where it is lent, and not elsewhere", async () => {
  await using kept = await setUpProvider("openai");
  await using lent = await setUpProvider("openai", undefined, true);
  assert.deepEqual(kept.router.report().engines, []);
  const [engine] = lent.router.report().engines;
  assert.deepEqual(
    engine?.offers.map(({ model, isPaid, capabilities }) => [
      model,
      isPaid,
      capabilities,
    ]),
    [
      ["openai/models/m", true, ["chat"]],
      ["openai/text-embedding-3", true, ["embedding"]],
      ["openai/whisper-1", true, ["transcription"]],
    ],
  );
});

Deno.test("a provider's key is in no error, no answer and no line of the log", async () => {
  for (const status of [400, 401, 403, 500]) {
    await using setup = await setUpProvider(
      "openai",
      ({ url }) =>
        url.pathname.endsWith("/models") ? undefined : Response.json(
          { error: { message: `Incorrect API key provided: ${KEY}` } },
          { status },
        ),
    );
    const told = await setup.ask("openai/models/m").then(
      ({ text }) => text,
      (error: Error) => `${error.message} ${error.cause}`,
    );
    assert.doesNotMatch(told, /not-to-be-seen/);
    assert.doesNotMatch(JSON.stringify(setup.log.lines), /not-to-be-seen/);
  }
  await using locked = await setUpProvider(
    "openai",
    () => new Response(KEY, { status: 401 }),
  );
  const { availability } = locked.engine.view();
  assert(availability.kind === "unavailable");
  assert.match(availability.reason, /openai wants a key, or refuses/);
  assert.doesNotMatch(JSON.stringify(locked.log.lines), /not-to-be-seen/);
});

Deno.test("a 429 rests a provider for as long as its own headers say (RET-01)", async () => {
  await using setup = await setUpProvider(
    "groq",
    ({ url }) =>
      url.pathname.endsWith("/models") ? undefined : Response.json(
        { error: { message: "slow down" } },
        {
          status: 429,
          headers: {
            "x-ratelimit-remaining-requests": "0",
            "x-ratelimit-reset-requests": "2m0.5s",
          },
        },
      ),
  );
  const ask = () => setup.ask("groq/models/m").catch((error: Fault) => error);
  await ask();
  const rests = () => setup.router.standing()[0]?.engines[0]?.restsForMs;
  assert.equal(rests(), 121_000);
  const told = await ask();
  assert(told instanceof Fault && told.code === "cooling_down");
  assert.equal(setup.calls.length, 2);
});

Deno.test("a 429 rests Gemini for as long as its error's RetryInfo says (RET-01)", async () => {
  await using setup = await setUpProvider(
    "gemini",
    ({ url }) =>
      url.pathname.endsWith("/models") ? undefined : Response.json([{
        error: {
          code: 429,
          status: "RESOURCE_EXHAUSTED",
          message: `Quota of ${KEY} exceeded`,
          details: [{
            "@type": "type.googleapis.com/google.rpc.RetryInfo",
            retryDelay: "34.5s",
          }],
        },
      }], { status: 429 }),
  );
  const ask = () => setup.ask("gemini/m").catch((error: Fault) => error);
  await ask();
  assert.equal(setup.router.standing()[0]?.engines[0]?.restsForMs, 35_000);
  const told = await ask();
  assert(told instanceof Fault && told.code === "cooling_down");
  assert.equal(setup.calls.length, 2);
});
