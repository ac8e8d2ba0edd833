import assert from "node:assert/strict";
import fc from "fast-check";
import {
  createSeededEntropy,
  ManualClock,
  MemoryFiles,
} from "../../src/platform/mod.ts";
import { createCommandEngine } from "../../src/engines/command/command_engine.ts";
import type { TranscriptForm } from "../../src/engines/command/command_settings.ts";
import { readSphinx } from "../../src/engines/command/sphinx_transcript.ts";
import { writeWav } from "../../src/engines/command/wav.ts";
import { readWhisperJson } from "../../src/engines/command/whisper_transcript.ts";
import { buildAttempt, testNodeId } from "../fakes/attempt_builder.ts";
import { FakeProcesses } from "../fakes/fake_processes.ts";
import { QuietLog } from "../fakes/quiet_log.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const jsonBytes = (value: unknown) => encode(JSON.stringify(value));

const SPHINX = `one two
<s> 0.000 0.020 0.999900
one 0.030 0.240 0.145145
<sil> 0.250 0.460 0.709255
two(2) 0.470 0.670 0.349895
</s> 1.290 1.610 1.000000

three
three 2.000 2.500 1.000000
`;

Deno.test("readSphinx reads utterances and the times of their words", () => {
  assert.deepEqual(readSphinx(SPHINX), {
    text: "one two three",
    segments: [
      { start: 0.03, end: 0.67, text: "one two" },
      { start: 2, end: 2.5, text: "three" },
    ],
    words: [
      { word: "one", start: 0.03, end: 0.24 },
      { word: "two", start: 0.47, end: 0.67 },
      { word: "three", start: 2, end: 2.5 },
    ],
    language: null,
  });
  assert.equal(readSphinx("").text, "");
});

Deno.test("readWhisperJson reads segments, and nothing of another form", () => {
  const file = {
    result: { language: "en" },
    transcription: [{ offsets: { from: 0, to: 1_500 }, text: " One two" }],
  };
  assert.deepEqual(readWhisperJson(jsonBytes(file)), {
    text: "One two",
    segments: [{ start: 0, end: 1.5, text: "One two" }],
    words: null,
    language: "en",
  });
  for (const text of ["", "{}", '{"transcription":[{}]}', "[1]"]) {
    assert.equal(readWhisperJson(encode(text)), undefined);
  }
});

/** A token as whisper.cpp writes it with `-ojf`. */
function token(text: string, from: number, to: number) {
  return { text, offsets: { from, to }, id: 1, p: 0.9, t_dtw: -1 };
}

function fullFile(language: string, ...tokens: ReturnType<typeof token>[]) {
  const text = tokens.map((one) => one.text).join("");
  return {
    result: { language },
    transcription: [{ offsets: { from: 0, to: 2_000 }, text, tokens }],
  };
}

Deno.test("readWhisperJson puts the words of a full file together from their tokens", () => {
  const file = fullFile(
    "en",
    token("[_BEG_]", 0, 0),
    token(" Un", 100, 300),
    token("believ", 300, 600),
    token("able", 600, 700),
    token(",", 700, 720),
    token(" yes", 800, 1_100),
    token("[_TT_550]", 1_100, 1_100),
  );
  assert.deepEqual(readWhisperJson(jsonBytes(file))?.words, [
    { word: "Unbelievable,", start: 0.1, end: 0.72 },
    { word: "yes", start: 0.8, end: 1.1 },
  ]);
  const unspaced = fullFile(
    "zh",
    token("今天", 0, 400),
    token("好", 400, 600),
  );
  assert.deepEqual(
    readWhisperJson(jsonBytes(unspaced))?.words?.map(({ word }) => word),
    ["今天", "好"],
  );
});

Deno.test("readWhisperJson reads a character whose bytes lie in two tokens", () => {
  for (const language of ["en", "ja"]) {
    const whole = jsonBytes(
      fullFile(language, token(" caf<", 0, 300), token(">s", 300, 400)),
    );
    // "é" is the bytes c3 a9, written where "<" and ">" stand.
    const file = whole.map((byte) =>
      byte === 0x3c ? 0xc3 : byte === 0x3e ? 0xa9 : byte
    );
    const read = readWhisperJson(file);
    assert.deepEqual(read?.words, [{ word: "cafés", start: 0, end: 0.4 }]);
    assert.equal(read?.text, "cafés");
  }
});

Deno.test("readWhisperJson survives any tokens", () => {
  fc.assert(fc.property(
    fc.array(fc.oneof(fc.jsonValue(), fc.constant(token("�", 1, 2)))),
    (tokens) => {
      const offsets = { from: 0, to: 1 };
      const file = { transcription: [{ offsets, text: "x", tokens }] };
      const words = readWhisperJson(jsonBytes(file))?.words ?? [];
      assert(words.every(({ word }) => word.trim() !== ""));
    },
  ));
});

/** Have a program of one kind of output hear something, which it tells as given. */
async function hear(
  output: TranscriptForm,
  told: { readonly printed?: string; readonly file?: unknown },
  granularities: readonly string[],
) {
  const processes = new FakeProcesses();
  const files = new MemoryFiles();
  await using engine = createCommandEngine({
    config: {
      id: "command",
      models: [{
        id: "listener",
        capability: "transcription",
        command: ["hear", "{input}", "{output}"],
        output,
        slots: 1,
        timeLimitMs: 1_000,
      }],
    },
    processes,
    files,
    clock: new ManualClock(),
    entropy: createSeededEntropy(1),
    log: new QuietLog(),
    node: testNodeId(),
    nodeName: "anna",
    env: { PATH: "/bin" },
    temporaryDir: "/tmp",
  });
  processes.onSpawn = async (child) => {
    if (told.file !== undefined) {
      const [, , stem] = child.options.command;
      await files.writeAtomic(`${stem}.json`, jsonBytes(told.file), 0o600);
    }
    if (told.printed !== undefined) child.print(told.printed);
    child.exit(0);
  };
  const sound = { sampleRate: 16_000, samples: new Int16Array(1_600) };
  const started = await engine.start(
    buildAttempt("listener", {
      capability: "transcription",
      stream: false,
      body: {
        file: { name: "a.wav", data: writeWav(sound).toBase64() },
        timestamp_granularities: [...granularities],
      },
    }),
    new AbortController().signal,
  );
  assert(started.kind === "accepted");
  const answer = await started.answer();
  const json = await new Response(answer.body).json();
  return { status: answer.status, json, ran: processes.children.length > 0 };
}

Deno.test("a command engine tells words' times where its program does, and only if asked", async () => {
  const sphinx = await hear("sphinx", { printed: SPHINX }, ["word"]);
  assert.equal(sphinx.status, 200);
  assert.deepEqual(sphinx.json.words[1], {
    word: "two",
    start: 0.47,
    end: 0.67,
  });
  assert.equal(sphinx.json.segments.length, 2);
  const unasked = await hear("sphinx", { printed: SPHINX }, ["segment"]);
  assert.ok(!("words" in unasked.json));
  const file = fullFile("en", token(" yes", 800, 1_100));
  const whisper = await hear("whisper-json-full", { file }, ["word"]);
  assert.deepEqual(whisper.json.words, [{ word: "yes", start: 0.8, end: 1.1 }]);
});

Deno.test("a command engine refuses words' times that its program does not tell, before it runs", async () => {
  for (const output of ["text", "whisper-json"] as const) {
    const { status, json, ran } = await hear(output, {}, ["word", "segment"]);
    assert.equal(status, 400);
    assert.equal(json.error.param, "timestamp_granularities");
    assert.match(json.error.message, /"listener" does not tell when each word/);
    assert.equal(ran, false);
  }
  const file = {
    transcription: [{ offsets: { from: 0, to: 1_500 }, text: " One" }],
  };
  await assert.rejects(
    hear("whisper-json-full", { file }, ["word"]),
    /"hear" told no times of words/,
  );
});
