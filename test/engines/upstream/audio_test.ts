import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { apiUnderTest, get, LOOPBACK, post } from "../../api/api_under_test.ts";
import { setUpUpstreams, type UpstreamSetup } from "./upstream_setup.ts";
import type { NamedCapabilities } from "../../../src/engines/upstream/named_capabilities.ts";

/** A form as a server of transcriptions got it. */
interface HeardForm {
  readonly digest: string;
  readonly filename: string;
  readonly type: string;
  readonly fields: readonly (readonly [string, string])[];
}

interface AudioServer extends AsyncDisposable {
  readonly url: string;
  readonly heard: HeardForm[];
  // deno-lint-ignore no-explicit-any
  readonly spoken: any[];
  readonly paths: string[];
}

const TRANSCRIPT = {
  task: "transcribe",
  language: "english",
  duration: 2.5,
  text: "one two",
  segments: [
    { id: 7, start: 0, end: 1, text: "one", avg_logprob: -0.25 },
    { id: 8, start: 1, end: 2.5, text: "two", avg_logprob: -0.5 },
  ],
};

function startAudioServer(models: readonly object[]): AudioServer {
  const heard: HeardForm[] = [];
  // deno-lint-ignore no-explicit-any
  const spoken: any[] = [];
  const paths: string[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      const { pathname } = new URL(request.url);
      if (pathname === "/v1/models") return Response.json({ data: models });
      paths.push(pathname);
      if (pathname === "/v1/audio/speech") {
        spoken.push(await request.json());
        return new Response("RIFF of sound", {
          headers: { "content-type": "audio/wav" },
        });
      }
      if (pathname !== "/v1/audio/transcriptions") {
        return new Response("no such route", { status: 404 });
      }
      const form = await request.formData();
      const file = form.get("file");
      assert(file instanceof File);
      heard.push({
        digest: createHash("sha256").update(await file.bytes()).digest("hex"),
        // A form's name has its quotes as browsers write them.
        filename: file.name.replaceAll("%22", '"'),
        type: file.type,
        fields: [...form].flatMap(([name, value]) =>
          typeof value === "string" ? [[name, value] as const] : []
        ).toSorted(),
      });
      const isTimed = form.get("response_format") === "verbose_json";
      return Response.json(isTimed ? TRANSCRIPT : { text: TRANSCRIPT.text });
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    heard,
    spoken,
    paths,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

const encode = (text: string) => new TextEncoder().encode(text);
const HEAD =
  '--XB\r\nContent-Disposition: form-data; name="file"; filename="ré \\"x\\".m4a"\r\nContent-Type: audio/mp4\r\n\r\n';

/** A form whose file stands before all else, and holds what looks like its end. */
function formOf(
  file: Uint8Array,
  fields: Readonly<Record<string, string>>,
): Blob {
  const rest = Object.entries(fields).map(([name, value]) =>
    `\r\n--XB\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}`
  );
  return new Blob([HEAD, new Uint8Array(file), ...rest, "\r\n--XB--\r\n"]);
}

function transcribe(setup: UpstreamSetup, body: BodyInit): Promise<Response> {
  const { api } = apiUnderTest({ router: setup.router });
  return api.handle(
    get("/v1/audio/transcriptions", {
      method: "POST",
      headers: { "content-type": 'multipart/form-data; boundary="XB"' },
      body,
    }),
    LOOPBACK,
  );
}

function setUp(url: string, capabilities: readonly NamedCapabilities[] = []) {
  return setUpUpstreams({ kind: "openai-compatible", url }, { capabilities });
}

const TRICKY = new Uint8Array([0, 255, ...encode("\r\n--XB-not\r\n--X")]);

Deno.test("AUD-01 a file goes on to a server byte for byte, under its name, whichever way it came", async () => {
  await using server = startAudioServer([{ id: "org/whisper-large" }]);
  await using setup = await setUp(server.url);
  const large = new Uint8Array(30 * 1024 * 1024)
    .map((_, at) => at * 31 + (at >> 8));
  for (
    const [file, isTrickled] of [
      [TRICKY, false],
      [TRICKY, true],
      [large, false],
    ] as const
  ) {
    const form = formOf(file, {
      model: "org/whisper-large",
      language: "en",
      temperature: "0.5",
    });
    const body = isTrickled
      ? ReadableStream.from(
        Array.from(await form.bytes(), (byte) => new Uint8Array([byte])),
      )
      : form;
    const response = await transcribe(setup, body);
    assert.equal(response.status, 200);
    assert.deepEqual(await response.json(), { text: "one two" });
    assert.deepEqual(server.heard.pop(), {
      digest: createHash("sha256").update(file).digest("hex"),
      filename: 'ré "x".m4a',
      type: "audio/mp4",
      fields: [
        ["language", "en"],
        ["model", "org/whisper-large"],
        ["response_format", "json"],
        ["temperature", "0.5"],
      ],
    });
  }
});

Deno.test("AUD-01 transcriptions of a server come in every format", async () => {
  await using server = startAudioServer([{ id: "whisper-1" }]);
  await using setup = await setUp(server.url);
  const table: readonly [string, string, RegExp | string][] = [
    ["json", "json", '{"text":"one two"}'],
    ["text", "json", "one two\n"],
    ["srt", "verbose_json", /^1\n00:00:00,000 --> 00:00:01,000\none\n\n2\n/],
    ["vtt", "verbose_json", /^WEBVTT\n\n00:00:00\.000 --> 00:00:01\.000\none/],
    [
      "verbose_json",
      "verbose_json",
      /"avg_logprob":-0\.25.*"avg_logprob":-0\.5/,
    ],
  ];
  for (const [response_format, asked, wanted] of table) {
    const response = await transcribe(
      setup,
      formOf(encode("x"), { model: "whisper-1", response_format }),
    );
    const text = await response.text();
    if (typeof wanted === "string") assert.equal(text, wanted);
    else assert.match(text, wanted);
    const fields = new Map(server.heard.pop()?.fields);
    assert.equal(fields.get("response_format"), asked);
  }
});

Deno.test("speech of a server passes on as it is", async () => {
  await using server = startAudioServer([{ id: "tts-1" }]);
  await using setup = await setUp(server.url);
  const { api } = apiUnderTest({ router: setup.router });
  const response = await api.handle(
    post("/v1/audio/speech", { model: "tts-1", input: "Hi", voice: "alloy" }),
    LOOPBACK,
  );
  assert.equal(response.headers.get("content-type"), "audio/wav");
  assert.equal(await response.text(), "RIFF of sound");
  assert.deepEqual(server.spoken, [{
    model: "tts-1",
    input: "Hi",
    voice: "alloy",
    response_format: "wav",
  }]);
});

Deno.test("EMB-04 what models do is told by their server, by their names, or by the operator before both", async () => {
  await using server = startAudioServer([
    { id: "gpt-4o-transcribe" },
    { id: "hexgrad/Kokoro-82M" },
    { id: "listener", task: "automatic-speech-recognition" },
    { id: "speaker", task: "text-to-speech" },
    { id: "plain" },
    { id: "my-ears" },
    { id: "whisper-that-chats" },
    { id: "dall-e-3" },
  ]);
  await using setup = await setUp(server.url, [
    { pattern: "my-*", capabilities: ["transcription"] },
    { pattern: "*-that-chats", capabilities: ["chat"] },
  ]);
  const offers = setup.upstreams.engines()[0]?.view().offers ?? [];
  assert.deepEqual(
    offers.map(({ model, capabilities }) => [model, ...capabilities]),
    [
      ["gpt-4o-transcribe", "transcription"],
      ["hexgrad/Kokoro-82M", "speech"],
      ["listener", "transcription"],
      ["speaker", "speech"],
      ["plain", "chat", "completion"],
      ["my-ears", "transcription"],
      ["whisper-that-chats", "chat"],
    ],
  );
  assert(offers.at(-1)?.features.includes("tools"));
  const refused = await transcribe(
    setup,
    formOf(encode("x"), { model: "plain" }),
  );
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /not transcription/);
  assert.deepEqual(server.paths, [], "no engine was asked what it cannot do");
});
