import assert from "node:assert/strict";
import { type Capability, Fault } from "../../src/domain/mod.ts";
import { createEmbeddedEngine } from "../../src/engines/embedded/embedded_engine.ts";
import {
  createDenoFiles,
  createDenoProcesses,
  createSeededEntropy,
  createSystemClock,
} from "../../src/platform/mod.ts";
import { buildAttempt, testNodeId } from "../fakes/attempt_builder.ts";
import { GB, model, never, setUp } from "../fakes/embedded_setup.ts";
import { QuietLog } from "../fakes/quiet_log.ts";

Deno.test("createEmbeddedEngine starts a process on demand, as its contract says", async () => {
  const { ask, closed, clock, engine, files, processes, tokens } = setUp();
  processes.onSpawn = (child) => child.becomeReady();
  assert.equal(await ask("a"), "data: [DONE]\n\n");
  const { command, env } = processes.last.options;
  const socket = command[command.indexOf("--socket") + 1] ?? "";
  assert.match(socket, /^\/data\/run\/covey-[0-9a-f]{16}\/1\.sock$/);
  assert.deepEqual(command, [
    "covey",
    "engine",
    ...["--model", "/models/a.gguf"],
    ...["--socket", socket],
    ...["--mode", "chat"],
    ...["--context", "32768"],
    ...["--slots", "2"],
    ...["--threads", "2"],
    ...["--gpu", "auto"],
  ]);
  assert.deepEqual(env, { PATH: "/bin" });
  assert.match(processes.last.input, /^[0-9a-f]{64}\n$/);
  assert.deepEqual(tokens, [`Bearer ${processes.last.input.trim()}`]);
  await clock.advance(300_000);
  assert.deepEqual(processes.last.signals, ["SIGTERM"]);
  assert.deepEqual(closed, [socket]);
  await engine[Symbol.asyncDispose]();
  assert.deepEqual(await files.list("/data/run"), []);
});

Deno.test("createEmbeddedEngine offers cold, loading, warm and failed models", async () => {
  const { ask, clock, engine, processes } = setUp();
  await using _owner = engine;
  const offer = () => engine.view().offers[0];
  assert.deepEqual(offer()?.state, { kind: "cold" });
  assert.equal(offer()?.contextLength, 32_768);
  assert.deepEqual(offer()?.rates, {
    prefillTokensPerSecond: 50,
    tpotMs: [100, 150],
    loadTimeMs: 2_300,
    observations: 0,
    typicalError: 0.5,
    expectedOutputTokens: 256,
  });
  const asked = ask("a");
  await clock.advance(800);
  assert.deepEqual(offer()?.state, {
    kind: "loading",
    progress: 0,
    remainingMs: 1_500,
  });
  assert.deepEqual(offer()?.queue.runningMs, [200]);
  processes.last.say({ event: "loading", progress: 0.2 });
  await clock.advance(200);
  assert.deepEqual(offer()?.state, {
    kind: "loading",
    progress: 0.2,
    remainingMs: 4_000,
  });
  processes.last.becomeReady();
  await asked;
  assert.deepEqual(offer()?.state, { kind: "warm", loadTimeMs: 1_000 });
  assert.equal(offer()?.contextLength, 2_048);
  assert.deepEqual(offer()?.queue, { slots: 2, runningMs: [], waitingMs: [] });
  processes.last.exit(137);
  await clock.advance(0);
  const failed = offer()?.state;
  assert.equal(failed?.kind, "failed");
  assert.match(failed?.kind === "failed" ? failed.reason : "", /out of memory/);
  await clock.advance(1_000);
  assert.deepEqual(offer()?.state, { kind: "cold" });
});

Deno.test("createEmbeddedEngine names the process of a model, another one for each start and none while none stands", async () => {
  const { ask, clock, engine, models, processes } = setUp();
  await using _owner = engine;
  processes.onSpawn = (child) => child.becomeReady();
  const process = () => engine.view().offers[0]?.process;
  assert.equal(process(), undefined);
  await ask("a");
  const first = process();
  assert.equal(typeof first, "string");
  await ask("a");
  assert.equal(process(), first);
  processes.last.exit(137);
  await clock.advance(0);
  assert.equal(process(), undefined);
  await clock.advance(1_000);
  await ask("a");
  const second = process();
  models.splice(0, 1, model("a", { sizeBytes: 2 * GB }));
  assert.equal(process(), undefined);
  await ask("a");
  assert.equal(new Set([first, second, process(), undefined]).size, 4);
});

Deno.test("createEmbeddedEngine unloads idle models, least recently used first, when memory is short", async () => {
  const { ask, clock, engine, log, memory, processes, state } = setUp();
  await using _owner = engine;
  processes.onSpawn = (child) => {
    memory.freeBytes -= GB;
    child.becomeReady();
    child.exited.then(() => memory.freeBytes += GB);
  };
  await ask("a");
  await clock.advance(10);
  await ask("b");
  await clock.advance(10);
  await ask("a");
  // Room for one more is less than 1.2 GB and 512 MiB; one victim suffices.
  memory.freeBytes = GB;
  await ask("c");
  assert.deepEqual(["a", "b", "c"].map(state), ["warm", "cold", "warm"]);
  const unloaded = log.lines.flatMap(({ fields }) => fields.unloaded ?? []);
  assert.deepEqual(unloaded, ["b"]);
});

Deno.test("createEmbeddedEngine ends the process of a model that changed or went", async () => {
  const { ask, engine, models, processes, state } = setUp();
  await using _owner = engine;
  processes.onSpawn = (child) => child.becomeReady();
  await ask("a");
  await ask("b");
  models.splice(0, 2, model("a", { sizeBytes: 2 * GB }));
  assert.equal(state("a"), "cold");
  await ask("a");
  assert.deepEqual(processes.children.map(({ signals }) => signals), [
    ["SIGTERM"],
    ["SIGTERM"],
    [],
  ]);
  const gone = await engine.start(buildAttempt("b"), never);
  assert.equal(gone.kind === "refused" && gone.reason, "model_not_here");
});

Deno.test("createEmbeddedEngine counts cores once, on the first load, and does with one thread when it can not", async () => {
  let counts = 0;
  const { ask, engine, processes } = setUp({
    threads: null,
    countCores: () => {
      counts++;
      return Promise.reject(new Error("no lscpu"));
    },
  });
  await using _owner = engine;
  processes.onSpawn = (child) => child.becomeReady();
  engine.view();
  assert.equal(counts, 0);
  await ask("a");
  await ask("b");
  assert.equal(counts, 1);
  const { command } = processes.last.options;
  assert.equal(command[command.indexOf("--threads") + 1], "1");
});

Deno.test("createEmbeddedEngine moves its sockets where the path is short", async () => {
  const { ask, engine, processes } = setUp({
    runtimeDir: `/${"deep/".repeat(20)}run`,
  });
  await using _owner = engine;
  processes.onSpawn = (child) => child.becomeReady();
  await ask("a");
  assert.match(processes.last.options.command.join(" "), /--socket \/short\//);
});

Deno.test("EMB-04 createEmbeddedEngine offers what it can do only, and starts a process for just that", async () => {
  const { engine, models, processes } = setUp();
  await using _owner = engine;
  processes.onSpawn = (child) => child.becomeReady();
  const only = (name: string, capability: Capability) =>
    model(name, { capabilities: [capability], features: [] });
  models.splice(
    0,
    3,
    only("embed", "embedding"),
    only("rank", "rerank"),
    only("chat", "chat"),
    only("speak", "speech"),
  );
  assert.deepEqual(
    engine.view().offers.map((one) => [one.model, one.capabilities]),
    [["embed", ["embedding"]], ["rank", ["rerank"]], ["chat", ["chat"]]],
  );
  const kinds = [
    ["embed", "embedding"],
    ["rank", "rerank"],
    ["chat", "chat"],
  ] as const;
  for (const [name, kind] of kinds) {
    for (const [, capability] of kinds) {
      if (capability === kind) continue;
      await assert.rejects(
        engine.start(buildAttempt(name, { capability }), never),
        (error) => error instanceof Fault && error.code === "wrong_capability",
      );
    }
  }
  assert.equal(processes.children.length, 0, "no process for a refusal");
  for (const [name, capability] of kinds) {
    const started = await engine.start(
      buildAttempt(name, { capability }),
      never,
    );
    assert.equal(started.kind, "accepted");
    await (await started.answer()).body.cancel();
    const { command } = processes.last.options;
    assert.equal(command[command.indexOf("--mode") + 1], capability);
  }
});

Deno.test("createEmbeddedEngine with a real process streams, and a killed one ends the stream in an error", async () => {
  const folder = await Deno.makeTempDir();
  const log = new QuietLog();
  try {
    await using engine = createEmbeddedEngine({
      clock: createSystemClock(),
      files: createDenoFiles(() => "test"),
      entropy: createSeededEntropy(1),
      processes: createDenoProcesses([
        Deno.execPath(),
        "run",
        "--quiet",
        "--no-config",
        "--allow-all",
        new URL("../fakes/engine_program.ts", import.meta.url).pathname,
      ]),
      log,
      node: testNodeId(),
      nodeName: "here",
      models: { list: () => [model("a")], invalid: () => [] },
      threads: 1,
      slots: 1,
      contextLength: null,
      keepAliveMs: Infinity,
      env: { PATH: "/bin" },
      gpu: "off",
      runtimeDir: folder,
      temporaryDir: folder,
      freeMemoryBytes: () => 64 * GB,
    });
    const ask = async (body: { chunks?: number }) => {
      const attempt = buildAttempt("a", { body });
      const started = await engine.start(attempt, never);
      assert.equal(started.kind, "accepted");
      return await started.answer();
    };
    const whole = await ask({ chunks: 2 });
    assert.equal(whole.status, 200);
    const text = await new Response(whole.body).text();
    assert.equal(text, "data: 1\n\ndata: 2\n\n");

    const broken = await ask({});
    const reader = broken.body.getReader();
    await reader.read();
    const pid = log.lines.find(({ fields }) => fields.pid !== undefined)
      ?.fields.pid;
    Deno.kill(Number(pid), "SIGKILL");
    await assert.rejects(
      async () => {
        while (!(await reader.read()).done);
      },
      (error) => error instanceof Fault && error.code === "engine_failed",
    );
  } finally {
    const left = await Array.fromAsync(Deno.readDir(folder));
    await Deno.remove(folder, { recursive: true });
    assert.deepEqual(left, []);
  }
});
