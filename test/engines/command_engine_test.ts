import assert from "node:assert/strict";
import fc from "fast-check";
import {
  createSeededEntropy,
  ManualClock,
  MemoryFiles,
} from "../../src/platform/mod.ts";
import { fillArguments } from "../../src/engines/command/arguments.ts";
import { createCommandEngine } from "../../src/engines/command/command_engine.ts";
import type { CommandModel } from "../../src/engines/command/command_settings.ts";
import { findKnownPrograms } from "../../src/engines/command/known_programs.ts";
import { readWav, resample, writeWav } from "../../src/engines/command/wav.ts";
import { buildAttempt, testNodeId } from "../fakes/attempt_builder.ts";
import { FakeProcesses } from "../fakes/fake_processes.ts";
import { QuietLog } from "../fakes/quiet_log.ts";
import { until } from "../fakes/simulated_pair.ts";

const SPEAKER: CommandModel = {
  id: "speaker",
  capability: "speech",
  command: ["speak", "-v", "{voice}", "-w", "{output}"],
  output: "wav",
  slots: 1,
  timeLimitMs: 1_000,
};

const WAV = writeWav({
  sampleRate: 8_000,
  samples: new Int16Array(80).fill(7),
});

function engineUnderTest(model: CommandModel = SPEAKER) {
  const processes = new FakeProcesses();
  const files = new MemoryFiles();
  const clock = new ManualClock();
  const engine = createCommandEngine({
    config: { id: "command", models: [model] },
    processes,
    files,
    clock,
    entropy: createSeededEntropy(1),
    log: new QuietLog(),
    node: testNodeId(),
    nodeName: "anna",
    env: { PATH: "/bin" },
    temporaryDir: "/tmp",
  });
  const started = new Promise<void>((resolve) => {
    processes.onSpawn = () => resolve();
  });
  return { engine, processes, files, clock, started };
}

function speech(body: Record<string, string | number>) {
  return buildAttempt("speaker", {
    capability: "speech",
    stream: false,
    body: { input: "Hello", ...body },
  });
}

async function answerOf(
  { engine }: ReturnType<typeof engineUnderTest>,
  attempt: ReturnType<typeof speech>,
  signal = new AbortController().signal,
) {
  const result = await engine.start(attempt, signal);
  assert.equal(result.kind, "accepted");
  return result.kind === "accepted" ? await result.answer() : assert.fail();
}

Deno.test("a command engine gives a program its text and a private folder, and leaves nothing behind", async () => {
  const setup = engineUnderTest();
  await using _engine = setup.engine;
  const answering = answerOf(setup, speech({ voice: "x; rm -rf", speed: 2 }));
  assert.equal((await answering).status, 400, "no such name is a voice");

  const second = answerOf(setup, speech({ voice: "alloy" }));
  await setup.started;
  const { options } = setup.processes.last;
  assert.deepEqual(options.env, { PATH: "/bin" });
  assert.match(options.cwd ?? "", /^\/tmp\/covey-command-/);
  const output = `${options.cwd}/output.wav`;
  assert.deepEqual(options.command, ["speak", "-w", output]);
  await setup.files.writeAtomic(output, WAV, 0o600);
  setup.processes.last.exit(0);
  const { contentType, body } = await second;
  assert.equal(contentType, "audio/wav");
  assert.deepEqual(await new Response(body).bytes(), WAV);
  assert.equal(setup.processes.last.input, "Hello");
  assert.deepEqual(await setup.files.list("/tmp"), []);
});

Deno.test("a command engine kills its program when the client leaves, when its time is up and when it is disposed of", async () => {
  const gone = new AbortController();
  const table: readonly [
    (setup: ReturnType<typeof engineUnderTest>) => unknown,
    RegExp,
  ][] = [
    [() => gone.abort(new Error("The client left")), /client left/],
    [({ clock }) => clock.advance(1_000), /not done within 1 s/],
    [({ engine }) => engine[Symbol.asyncDispose](), /shutting down/],
  ];
  for (const [end, message] of table) {
    const setup = engineUnderTest();
    const answer = answerOf(
      setup,
      speech({}),
      gone.signal.aborted ? undefined : gone.signal,
    );
    const rejected = assert.rejects(answer, message);
    await setup.started;
    assert.equal(setup.engine.view().offers[0]?.queue.runningMs.length, 1);
    await end(setup);
    await rejected;
    assert.deepEqual(setup.processes.last.signals, ["SIGKILL"]);
    assert.deepEqual(await setup.files.list("/tmp"), []);
    await setup.engine[Symbol.asyncDispose]();
  }
});

Deno.test("a command engine is done when its program is gone, whoever else holds its input open unread", async () => {
  const setup = engineUnderTest();
  await using _engine = setup.engine;
  setup.processes.onSpawn = (child) => {
    child.reads = false;
    child.exit(3);
  };
  const failed = assert.rejects(
    answerOf(setup, speech({})),
    /ended with code 3/,
  );
  await until(setup.clock, failed);
  assert.deepEqual(setup.engine.view().offers[0]?.queue.runningMs, []);
  assert.deepEqual(await setup.files.list("/tmp"), []);
});

Deno.test("a command engine names ffmpeg where a format needs it, and takes no more than its slots", async () => {
  const setup = engineUnderTest();
  const refused = await answerOf(setup, speech({ response_format: "mp3" }));
  assert.equal(refused.status, 400);
  assert.match(await new Response(refused.body).text(), /ffmpeg/);

  const first = answerOf(setup, speech({}));
  const rejected = assert.rejects(first, /shutting down/);
  const second = await setup.engine.start(
    speech({}),
    new AbortController().signal,
  );
  assert.equal(second.kind === "refused" && second.reason, "queue_full");
  await setup.started;
  await setup.engine[Symbol.asyncDispose]();
  await rejected;
});

Deno.test("fillArguments keeps each argument one, and drops options without a value", () => {
  const values = { voice: null, output: "/tmp/a b", text: "$(x) {output}" };
  const table: readonly [readonly string[], readonly string[]][] = [
    [["p", "-v", "{voice}", "-o", "{output}"], ["p", "-o", "/tmp/a b"]],
    [["p", "{voice}", "x"], ["p", "x"]],
    [["{voice}"], []],
    [["p", "--out={output}.wav"], ["p", "--out=/tmp/a b.wav"]],
    [["p", "{text}"], ["p", "$(x) {output}"]],
    [["p", "{unknown}"], ["p", "{unknown}"]],
  ];
  for (const [command, wanted] of table) {
    assert.deepEqual(fillArguments(command, values), wanted);
  }
});

Deno.test("readWav reads what writeWav wrote, and survives any bytes", () => {
  fc.assert(fc.property(fc.int16Array({ maxLength: 50 }), (samples) => {
    const sound = { sampleRate: 16_000, samples: new Int16Array(samples) };
    assert.deepEqual(readWav(writeWav(sound)), sound);
  }));
  fc.assert(fc.property(fc.uint8Array({ maxLength: 80 }), (tail) => {
    const bytes = new Uint8Array([...WAV.subarray(0, 16), ...tail]);
    readWav(bytes);
  }));
});

Deno.test("resample keeps a steady sound steady and its duration the same", () => {
  for (const rate of [4_000, 8_000, 11_025, 24_000, 48_000]) {
    const sound = {
      sampleRate: 16_000,
      samples: new Int16Array(1_600).fill(99),
    };
    const { samples } = resample(sound, rate);
    assert.equal(samples.length, Math.floor(rate / 10));
    assert(samples.every((sample) => sample === 99));
  }
});

Deno.test("findKnownPrograms offers what lies on the path under a free name", async () => {
  const files = new MemoryFiles();
  await files.makeFolder("/usr/bin", 0o755);
  for (const name of ["espeak-ng", "pocketsphinx_continuous"]) {
    await files.writeAtomic(`/usr/bin/${name}`, "", 0o755);
  }
  const found = await findKnownPrograms(files, "bin:/nowhere:/usr/bin", [
    "pocketsphinx",
  ]);
  assert.deepEqual(found.map(({ id }) => id), ["espeak-ng"]);
});
