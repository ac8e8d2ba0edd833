import assert from "node:assert/strict";
import {
  Fault,
  type InferenceRequest,
  type LocalModel,
} from "../../src/domain/mod.ts";
import { buildAttempt } from "../fakes/attempt_builder.ts";
import { GB, model, never, setUp } from "../fakes/embedded_setup.ts";

/** An 8B model of 5 GB: 128 KiB of keys and values a token. */
const EIGHT_B: Partial<LocalModel> = {
  sizeBytes: 5 * GB,
  shape: { layers: 32, width: 4096, keptPerToken: 2048, vocabulary: 128_256 },
};

function flag(command: readonly string[], name: string): string | undefined {
  return command[command.indexOf(`--${name}`) + 1];
}

type SetUp = ReturnType<typeof setUp>;

/** Children that are ready at once with the context they were told, and take 1 GB. */
function playMemory(
  { memory, processes }: Pick<SetUp, "memory" | "processes">,
) {
  processes.onSpawn = (child) => {
    memory.freeBytes -= GB;
    child.exited.then(() => memory.freeBytes += GB);
    child.say({
      event: "ready",
      loadTimeMs: 1,
      contextLength: Number(flag(child.options.command, "context")),
      slots: 2,
    });
  };
}

/** Ask for an answer and leave it unread: the model computes. */
async function occupy({ engine }: SetUp, name: string) {
  const started = await engine.start(buildAttempt(name), never);
  assert.equal(started.kind, "accepted");
  return await started.answer();
}

function offerOf({ engine }: SetUp, name: string) {
  const offer = engine.view().offers.find((one) => one.model === name);
  assert.ok(offer);
  return offer;
}

async function upkeep(
  engine: SetUp["engine"],
  name: string,
  wish: NonNullable<InferenceRequest["upkeep"]>,
  request: Partial<InferenceRequest> = {},
) {
  const attempt = buildAttempt(name, {
    stream: false,
    ...request,
    upkeep: wish,
  });
  const started = await engine.start(attempt, never);
  assert.equal(started.kind, "accepted");
  const { body } = await started.answer();
  return await new Response(body).text();
}

Deno.test("keep_alive of a request holds until another says otherwise or the model leaves", async () => {
  const one = setUp({ keepAliveMs: 60_000 });
  const { ask, clock, engine, state } = one;
  await using _owner = engine;
  playMemory(one);
  await ask("a", { upkeep: { keepAliveMs: 600_000 } });
  await ask("a");
  await clock.advance(599_999);
  assert.equal(state("a"), "warm");
  assert.equal(offerOf(one, "a").residency?.expiresInMs, 1);
  await clock.advance(1);
  assert.equal(state("a"), "cold");
  await ask("a");
  await clock.advance(60_000);
  assert.equal(state("a"), "cold");
  await ask("a", { upkeep: { keepAliveMs: null } });
  await clock.advance(365 * 24 * 3_600_000);
  assert.equal(state("a"), "warm");
  assert.equal(offerOf(one, "a").residency?.expiresInMs, null);
  await ask("a", { upkeep: { keepAliveMs: 0 } });
  await clock.advance(0);
  assert.equal(state("a"), "cold");
});

Deno.test("keep_alive 0 of one request ends no other's answer", async () => {
  const one = setUp();
  const { ask, clock, engine, state } = one;
  await using _owner = engine;
  playMemory(one);
  const held = await occupy(one, "a");
  await ask("a", { upkeep: { keepAliveMs: 0 } });
  await clock.advance(1_000);
  assert.equal(state("a"), "warm");
  assert.equal(offerOf(one, "a").residency?.isInUse, true);
  await held.body.cancel();
  await clock.advance(0);
  assert.equal(state("a"), "cold");
});

Deno.test("a request that only wants its model loaded computes nothing, whatever the model is for", async () => {
  const one = setUp();
  const { engine, models, state, tokens } = one;
  await using _owner = engine;
  playMemory(one);
  models.push(model("e", { capabilities: ["embedding"], features: [] }));
  const streamed = await upkeep(engine, "a", { only: "load" }, {
    stream: true,
  });
  assert.match(
    streamed,
    /^data: \{.*"finish_reason":"stop".*\}\n\ndata: \[DONE\]\n\n$/,
  );
  const whole = JSON.parse(await upkeep(engine, "e", { only: "load" }));
  assert.equal(whole.choices[0].message.content, "");
  assert.deepEqual(["a", "e"].map(state), ["warm", "warm"]);
  assert.deepEqual(tokens, []);
});

Deno.test("a model is unloaded when told to, but not under an answer, nor against a pin unless an operator says so", async () => {
  const one = setUp({ pinned: ["b"] });
  const { ask, clock, engine, state } = one;
  await using _owner = engine;
  playMemory(one);
  const unload = async (name: string, evenPinned = false) =>
    JSON.parse(await upkeep(engine, name, { only: "unload", evenPinned }));
  assert.deepEqual(await unload("a"), { unloaded: true });
  await ask("a");
  assert.deepEqual(await unload("a"), { unloaded: true });
  assert.equal(state("a"), "cold");

  const held = await occupy(one, "a");
  const { unloaded, reason } = await unload("a");
  assert.equal(unloaded, false);
  assert.match(reason, /uses it/);
  assert.equal(state("a"), "warm");
  await held.body.cancel();

  await ask("b", { upkeep: { keepAliveMs: 0 } });
  await clock.advance(365 * 24 * 3_600_000);
  assert.deepEqual(offerOf(one, "b").residency, {
    memoryBytes: 1.2 * GB,
    expiresInMs: null,
    isPinned: true,
    isInUse: false,
  });
  assert.deepEqual(await unload("b"), {
    unloaded: false,
    reason: "it is pinned",
  });
  assert.deepEqual(await unload("b", true), { unloaded: true });
  assert.equal(state("b"), "cold");
});

Deno.test("unloading a model forgets that it failed to load (PRC-03)", async () => {
  const { ask, clock, engine, processes, state } = setUp();
  await using _owner = engine;
  processes.onSpawn = (child) => child.exit(1);
  await assert.rejects(ask("a"), Fault);
  assert.equal(state("a"), "failed");
  await upkeep(engine, "a", { only: "unload" });
  assert.equal(state("a"), "cold");
  processes.onSpawn = (child) => child.becomeReady();
  await ask("a");
  await clock.advance(0);
  assert.equal(state("a"), "warm");
});

Deno.test("num_ctx beyond the usual starts the model anew with as much, once nobody uses it, and stays", async () => {
  const one = setUp({ contextLength: 4_096 });
  const { ask, clock, engine, processes } = one;
  await using _owner = engine;
  playMemory(one);
  const contexts = () =>
    processes.children.map(({ options }) => flag(options.command, "context"));
  assert.equal(offerOf(one, "a").contextLength, 4_096);
  assert.equal(offerOf(one, "a").contextLimit, 131_072);
  const held = await occupy(one, "a");
  await ask("a", { upkeep: { contextLength: 2_048 } });
  assert.deepEqual(contexts(), ["4096"]);

  const grown = ask("a", { upkeep: { contextLength: 16_384 } });
  await clock.advance(1_000);
  // Who comes meanwhile does not keep it from growing.
  const later = ask("a");
  await clock.advance(1_000);
  assert.deepEqual(contexts(), ["4096"]);
  await held.body.cancel();
  await Promise.all([grown, later]);
  assert.deepEqual(contexts(), ["4096", "16384"]);
  await ask("a");
  await ask("a", { upkeep: { contextLength: 8_192 } });
  assert.deepEqual(contexts(), ["4096", "16384"]);
  assert.equal(offerOf(one, "a").contextLength, 16_384);
  await clock.advance(300_000);
  await ask("a");
  assert.deepEqual(contexts(), ["4096", "16384", "4096"]);
});

Deno.test("num_ctx beyond what training and memory allow is refused with what is possible", async () => {
  const one = setUp({ totalMemoryBytes: () => 16 * GB });
  const { ask, engine, models } = one;
  await using _owner = engine;
  playMemory(one);
  models.push(model("eight", EIGHT_B));
  const refused = (name: string, contextLength: number) =>
    assert.rejects(ask(name, { upkeep: { contextLength } }), (error) => {
      assert.ok(error instanceof Fault);
      assert.equal(error.code, "context_length_exceeded");
      assert.match(error.message, /can have \d+ tokens of context/);
      return true;
    });
  await refused("a", 131_073);
  const limit = offerOf(one, "eight").contextLength;
  // 85 % of 16 GB less 5 GB of weights, at 128 KiB a token and slot.
  assert.ok(limit > 29_000 && limit < 32_768, String(limit));
  await refused("eight", limit + 256);
});

Deno.test("a model larger than the machine's memory is offered as a misfit, and not loaded (HW-03)", async () => {
  const one = setUp({ totalMemoryBytes: () => 2 * GB });
  const { ask, engine, memory, models, processes } = one;
  await using _owner = engine;
  playMemory(one);
  memory.freeBytes = 1.8 * GB;
  models.push(model("six", { ...EIGHT_B, sizeBytes: 6 * GB }));
  const { misfit } = offerOf(one, "six");
  assert.equal(misfit?.retryInMs, null);
  assert.match(
    misfit?.reason ?? "",
    /^needs 6\.9 GB \(6\.0 GB of weights, .*\), and this node may use 2\.0 GB of memory in all$/,
  );
  assert.equal(offerOf(one, "a").misfit, undefined);
  await assert.rejects(
    ask("six"),
    (error) => error instanceof Fault && error.code === "insufficient_memory",
  );
  assert.equal(processes.children.length, 0);
});

Deno.test("a model that others leave no memory for is a misfit for now, and its refusal says what is needed and free", async () => {
  const available = { bytes: 64 * GB };
  const one = setUp({
    totalMemoryBytes: () => 64 * GB,
    availableMemoryBytes: () => available.bytes,
    pinned: ["a"],
  });
  const { ask, clock, engine, memory, models, processes } = one;
  await using _owner = engine;
  playMemory(one);
  models.push(model("eight", EIGHT_B));
  await ask("a");
  memory.freeBytes = available.bytes = 3 * GB;
  const { misfit } = offerOf(one, "eight");
  assert.equal(misfit?.retryInMs, 5_000);
  assert.match(
    misfit?.reason ?? "",
    /needs 5\.9 GB .* 3\.0 GB of this node's memory/,
  );
  await assert.rejects(ask("eight"), (error) => {
    assert.ok(error instanceof Fault);
    assert.equal(error.code, "insufficient_memory");
    assert.match(
      error.message,
      /needs 5\.9 GB .* 3\.0 GB .* unload what is pinned/,
    );
    return true;
  });
  assert.equal(processes.children.length, 1);
  // It is no crash: as soon as there is memory, it is loaded.
  memory.freeBytes = available.bytes = 64 * GB;
  assert.equal(offerOf(one, "eight").misfit, undefined);
  await clock.advance(2_000);
  await ask("eight");
  assert.equal(processes.children.length, 2);
});

Deno.test("a model gets a shorter context where memory is short and nobody said how much it must have", async () => {
  const one = setUp();
  const { ask, engine, memory, models, processes } = one;
  await using _owner = engine;
  playMemory(one);
  models.push(model("eight", EIGHT_B));
  memory.freeBytes = 8 * GB;
  await ask("eight");
  const context = Number(flag(processes.last.options.command, "context"));
  // 8 GB less weights and buffers, at 128 KiB for each of two slots.
  assert.ok(context > 9_000 && context < 11_000, String(context));
  assert.equal(offerOf(one, "eight").contextLength, context);
});

Deno.test("room is made by least use among what is neither in use nor pinned", async () => {
  const one = setUp({ pinned: ["a"] });
  const { ask, clock, engine, memory, models, state } = one;
  await using _owner = engine;
  playMemory(one);
  models.push(model("d"));
  for (const name of ["a", "b", "c"]) {
    await ask(name);
    await clock.advance(10);
  }
  memory.freeBytes = GB;
  await ask("d");
  assert.deepEqual(["a", "b", "c", "d"].map(state), [
    "warm",
    "cold",
    "warm",
    "warm",
  ]);
});

Deno.test("a load waits for the end of the answers that hold its memory, and they for it", async () => {
  const one = setUp();
  const { ask, clock, engine, memory, state } = one;
  await using _owner = engine;
  playMemory(one);
  const held = await occupy(one, "a");
  memory.freeBytes = 0.5 * GB;
  const order: string[] = [];
  const b = ask("b").then(() => order.push("b"));
  await clock.advance(1_000);
  // Another request for the first model may not make it stay for ever.
  const again = ask("a").then(() => order.push("a"));
  await clock.advance(1_000);
  assert.deepEqual(["a", "b"].map(state), ["warm", "loading"]);
  await held.body.cancel();
  await clock.advance(1_000);
  await Promise.all([b, again]);
  assert.deepEqual(order, ["b", "a"]);
  assert.deepEqual(["a", "b"].map(state), ["warm", "cold"]);
});

Deno.test("file pages that engines have mapped are no free memory", async () => {
  const one = setUp({ mappedFileBytes: () => Promise.resolve(2 * GB) });
  const { ask, engine, memory, state } = one;
  await using _owner = engine;
  playMemory(one);
  await ask("a");
  // The system counts what is mapped as free: there is room for another by its account.
  memory.freeBytes = 3 * GB;
  await ask("b");
  assert.deepEqual(["a", "b"].map(state), ["cold", "warm"]);
});
