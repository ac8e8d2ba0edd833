import assert from "node:assert/strict";
import fc from "fast-check";
import { isJsonObject, type JsonObject } from "../../src/domain/mod.ts";
import { parseMultipart } from "../../src/api/openai/audio/multipart.ts";
import {
  writeSrt,
  writeVtt,
} from "../../src/api/openai/audio/transcript_text.ts";
import {
  apiUnderTest,
  errorOf,
  get,
  LOOPBACK,
  post,
} from "./api_under_test.ts";

const encode = (text: string) => new TextEncoder().encode(text);

function concat(...parts: (string | Uint8Array)[]): Uint8Array<ArrayBuffer> {
  const bytes = parts.map((part) =>
    typeof part === "string" ? encode(part) : part
  );
  const whole = new Uint8Array(
    bytes.reduce((sum, { length }) => sum + length, 0),
  );
  let at = 0;
  for (const part of bytes) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** A form whose file stands before its model and holds what looks like its end. */
function form(file: Uint8Array, fields: Record<string, string>) {
  return concat(
    '--XB\r\nContent-Disposition: form-data; name="file"; filename="ré \\"x\\".m4a"\r\n',
    "Content-Type: audio/mp4\r\n\r\n",
    file,
    ...Object.entries(fields).map(([name, value]) =>
      `\r\n--XB\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}`
    ),
    "\r\n--XB--\r\n",
  );
}

function sendForm(body: BodyInit): Request {
  return get("/v1/audio/transcriptions", {
    method: "POST",
    headers: { "content-type": 'multipart/form-data; boundary="XB"' },
    body,
  });
}

const TRICKY = concat(
  "\x00ÿ",
  new Uint8Array([0, 255, 13, 10]),
  "--XB-not\r\n--X",
);

function fileOf(body: JsonObject | undefined): JsonObject {
  const file = body?.file;
  assert(isJsonObject(file));
  return file;
}

Deno.test("AUD-01 a file reaches the engine as it was sent, whole or byte by byte", async () => {
  const { api, router } = apiUnderTest();
  router.answer = () => ({ body: '{"text":"heard"}' });
  const bytes = form(TRICKY, { model: "listener", source: "local" });
  const trickled = ReadableStream.from(
    Array.from(bytes, (byte) => new Uint8Array([byte])),
  );
  for (const body of [bytes, trickled]) {
    const response = await api.handle(sendForm(body), LOOPBACK);
    assert.equal(response.status, 200);
    assert.deepEqual(await response.json(), { text: "heard" });
    const asked = router.requests.at(-1);
    assert.equal(asked?.capability, "transcription");
    assert.equal(asked?.model, "listener");
    assert.deepEqual(asked?.source, { kind: "local" });
    const file = fileOf(asked?.body);
    assert.equal(file.name, 'ré "x".m4a');
    assert.equal(file.type, "audio/mp4");
    assert.equal(file.data, TRICKY.toBase64());
  }
});

Deno.test("AUD-01 a file of 30 MiB is taken, one beyond the limit is not", async () => {
  const file = new Uint8Array(30 * 1024 * 1024).fill(13);
  const { api, router } = apiUnderTest();
  router.answer = () => ({ body: '{"text":""}' });
  const response = await api.handle(
    sendForm(form(file, { model: "m" })),
    LOOPBACK,
  );
  assert.equal(response.status, 200);
  await response.body?.cancel();
  assert.equal(fileOf(router.requests[0]?.body).size, file.length);

  const small = apiUnderTest({ bodyLimitBytes: 1_000 });
  const refused = await small.api.handle(
    sendForm(form(file.subarray(0, 2_000), { model: "m" })),
    LOOPBACK,
  );
  assert.equal(refused.status, 413);
  await refused.body?.cancel();
});

Deno.test("AUD-01 forms without model or file, or that are none, are a 400", async () => {
  const { api, router } = apiUnderTest();
  const file = encode("x");
  const table: readonly [Uint8Array<ArrayBuffer>, string | null][] = [
    [form(file, {}), "model"],
    [form(new Uint8Array(), { model: "m" }), "file"],
    [form(file, { model: "m", response_format: "doc" }), "response_format"],
    [form(file, { model: "m", stream: "true" }), "stream"],
    [
      concat(
        '--XB\r\ncontent-disposition: form-data; name="model"\r\n\r\nm\r\n--XB--',
      ),
      "file",
    ],
    [encode(""), null],
    [encode("no form"), null],
    [form(file, { model: "m" }).subarray(0, -8), null],
    [encode("--XB\r\n\r\nnameless\r\n--XB--"), null],
  ];
  for (const [body, param] of table) {
    const response = await api.handle(sendForm(body), LOOPBACK);
    assert.equal(response.status, 400);
    assert.equal((await errorOf(response)).param, param);
  }
  assert.equal(router.requests.length, 0);
});

Deno.test("parseMultipart gives back what the platform's own forms hold", async () => {
  const part = fc.record({
    name: fc.stringMatching(/^[a-z]{1,8}$/),
    bytes: fc.uint8Array({ maxLength: 200 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 5 }), async (parts) => {
      const data = new FormData();
      for (const { name, bytes } of parts) {
        data.append(name, new Blob([new Uint8Array(bytes)]), 'a "b".wav');
      }
      const sent = new Response(data);
      const read = parseMultipart(
        await sent.bytes(),
        sent.headers.get("content-type") ?? "",
      );
      assert.deepEqual(
        read.map(({ name, filename, bytes }) => [name, filename, [...bytes]]),
        parts.map(({ name, bytes }) => [name, 'a "b".wav', [...bytes]]),
      );
    }),
    { numRuns: 50 },
  );
});

Deno.test("transcriptions come in every format, with no more than the engine told", async () => {
  const { api, router } = apiUnderTest();
  const told = {
    text: "one two",
    language: "en",
    duration: 2.5,
    segments: [{ start: 0.25, end: 1, text: "one" }, {
      start: 1,
      end: 2.5,
      text: "two",
    }],
  };
  const table: readonly [string, object, RegExp | string][] = [
    ["text", told, "one two\n"],
    ["srt", told, writeSrt(told.segments)],
    ["vtt", told, writeVtt(told.segments)],
    [
      "vtt",
      { ...told, segments: [] },
      /00:00:00\.000 --> 00:00:02\.500\none two/,
    ],
    [
      "verbose_json",
      { text: "x" },
      '{"task":"transcribe","text":"x","segments":[]}',
    ],
    ["srt", { text: "x" }, /needs times/],
    ["json", { words: 1 }, /can not be used/],
  ];
  for (const [response_format, answer, wanted] of table) {
    router.answer = () => ({ body: JSON.stringify(answer) });
    const response = await api.handle(
      sendForm(form(encode("x"), { model: "m", response_format })),
      LOOPBACK,
    );
    const text = await response.text();
    if (typeof wanted === "string") assert.equal(text, wanted);
    else assert.match(text, wanted);
  }
});

Deno.test("transcriptions come with the times of words where the engine tells them, and are refused where not", async () => {
  const { api, router } = apiUnderTest();
  const words = [{ word: "one", start: 0.25, end: 1, probability: 0.5 }];
  const segments = [{ start: 0.25, end: 1, text: "one" }];
  const ask = async (
    format: string,
    granularities: readonly string[],
    answer: object,
  ) => {
    router.answer = () => ({ body: JSON.stringify(answer) });
    const fields = granularities.map((one) =>
      `\r\n--XB\r\ncontent-disposition: form-data; name="timestamp_granularities[]"\r\n\r\n${one}`
    ).join("");
    const whole = form(encode("x"), { model: "m", response_format: format });
    const end = "\r\n--XB--\r\n".length;
    return await api.handle(
      sendForm(concat(whole.subarray(0, -end), fields, "\r\n--XB--\r\n")),
      LOOPBACK,
    );
  };
  const told = { text: "one", segments, words };
  const only = await ask("verbose_json", ["word"], told);
  assert.deepEqual(await only.json(), {
    task: "transcribe",
    text: "one",
    words,
  });
  assert.deepEqual(router.requests.at(-1)?.body.timestamp_granularities, [
    "word",
  ]);
  const both = await ask("verbose_json", ["word", "segment"], told);
  assert.deepEqual(await both.json(), {
    task: "transcribe",
    text: "one",
    segments: [{ id: 0, ...segments[0] }],
    words,
  });
  for (
    const [format, granularities, message] of [
      ["json", ["word"], /needs the response_format "verbose_json"/],
      ["srt", ["word"], /needs the response_format "verbose_json"/],
      ["verbose_json", ["letter"], /must be "segment" or "word"/],
      ["verbose_json", ["word"], /"m" does not tell when each word/],
    ] as const
  ) {
    const refused = await ask(format, granularities, { text: "x", segments });
    assert.equal(refused.status, 400);
    const error = await errorOf(refused);
    assert.match(String(error.param), /^timestamp_granularities/);
    assert.match(String(error.message), message);
  }
});

Deno.test("writeSrt counts hours and keeps a cue in one piece", () => {
  assert.equal(
    writeSrt([{ start: 3_661.5, end: 3_662, text: " a\n\nb --> c " }]),
    "1\n01:01:01,500 --> 01:01:02,000\na\nb -> c\n\n",
  );
});

Deno.test("speech passes the engine's bytes on, and refuses what no engine is asked for", async () => {
  const { api, router } = apiUnderTest();
  router.answer = () => ({ contentType: "audio/wav", body: "RIFF" });
  const response = await api.handle(
    post("/v1/audio/speech", { model: "m", input: "Hello", voice: "alloy" }),
    LOOPBACK,
  );
  assert.equal(response.headers.get("content-type"), "audio/wav");
  assert.notEqual(response.headers.get("x-covey-decision"), null);
  assert.equal(await response.text(), "RIFF");
  assert.equal(router.requests[0]?.capability, "speech");
  assert.equal(router.requests[0]?.body.response_format, "wav");
  const table: readonly [Record<string, unknown>, string][] = [
    [{}, "input"],
    [{ input: " " }, "input"],
    [{ input: "x".repeat(16_385) }, "input"],
    [{ input: "x", speed: 5 }, "speed"],
    [{ input: "x", response_format: "midi" }, "response_format"],
    [{ input: "x", stream_format: "sse" }, "stream_format"],
  ];
  for (const [fields, param] of table) {
    const refused = await api.handle(
      post("/v1/audio/speech", { model: "m", ...fields }),
      LOOPBACK,
    );
    assert.equal(refused.status, 400);
    assert.equal((await errorOf(refused)).param, param);
  }
  assert.equal(router.requests.length, 1);
});
