import {
  type EngineAnswer,
  Fault,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../domain/mod.ts";
import { FileError } from "../../platform/mod.ts";
import { fillArguments, type PlaceholderValues } from "./arguments.ts";
import type { CommandEngineOptions } from "./command_options.ts";
import type {
  CommandModel,
  SpeechProgram,
  TranscriptForm,
  TranscriptionProgram,
} from "./command_settings.ts";
import { isOnPath } from "./known_programs.ts";
import { baseOf, type ProgramEnd, runProgram } from "./run_program.ts";
import { readSphinx } from "./sphinx_transcript.ts";
import type { Transcript } from "./transcript.ts";
import { readWhisperJson } from "./whisper_transcript.ts";
import { rawSamples, readWav, resample, writeWav } from "./wav.ts";

/** Longest answer that passes the router. */
const MOST_OUTPUT_BYTES = 64 * 1024 * 1024;
const MOST_TEXT_BYTES = 4 * 1024 * 1024;
const HEARD_RATE = 16_000;
/** What clients of OpenAI's dialect expect of `pcm`. */
const PCM_RATE = 24_000;
const NORMAL_WORDS_A_MINUTE = 175;
const SAFE_NAME = /^[A-Za-z0-9][A-Za-z0-9 ()._+-]{0,63}$/;

/** Voices of OpenAI's own models: who names one means any voice. */
const OPENAI_VOICES = new Set(
  "alloy ash ballad cedar coral echo fable marin nova onyx sage shimmer verse"
    .split(" "),
);

/** Formats beside WAV: what ffmpeg calls them and how their bytes are labelled. */
const CONVERTED: Readonly<Record<string, readonly [string, string]>> = {
  mp3: ["mp3", "audio/mpeg"],
  opus: ["opus", "audio/ogg"],
  aac: ["adts", "audio/aac"],
  flac: ["flac", "audio/flac"],
};

/**
 * Speak a text.
 *
 * @param model The program.
 * @param body `input`, and maybe `voice`, `speed` and `response_format`.
 * @param options The engine's ports.
 * @param signal Aborting it kills the program.
 * @returns The sound, or a 400 that says what can not be done.
 * @throws {Fault} When the program fails.
 */
export async function speak(
  model: SpeechProgram,
  body: JsonObject,
  options: CommandEngineOptions,
  signal: AbortSignal,
): Promise<EngineAnswer> {
  const text = stringOr(body.input) ?? "";
  const said = stringOr(body.voice);
  const voice = said === null || OPENAI_VOICES.has(said) ? null : said;
  if (voice !== null && !SAFE_NAME.test(voice)) {
    return refusal("voice", "The voice's name has characters no voice has");
  }
  const format = stringOr(body.response_format) ?? "wav";
  const converted = CONVERTED[format];
  if (converted !== undefined && !await hasFfmpeg(options)) {
    return refusal(
      "response_format",
      `"${format}" needs the program ffmpeg on "${options.nodeName}": install it there, or ask for "wav" or "pcm"`,
    );
  }
  const speed = typeof body.speed === "number" ? body.speed : 1;
  return await inFolder(options, async (folder) => {
    const input = new TextEncoder().encode(text);
    const readsFile = model.command.some((part) => part.includes("{input}"));
    if (readsFile) {
      await options.files.writeAtomic(`${folder}/input.txt`, input, 0o600);
    }
    const output = `${folder}/output.wav`;
    const end = await runModel(model, options, folder, signal, {
      input: `${folder}/input.txt`,
      output,
      voice: voice ?? model.voice ?? null,
      language: null,
      speed: String(speed),
      wpm: String(Math.round(NORMAL_WORDS_A_MINUTE * speed)),
    }, readsFile ? new Uint8Array() : input);
    if (end.code !== 0 && voice !== null) {
      return refusal("voice", `"${model.id}" does not speak as "${voice}"`);
    }
    checkEnd(model, end);
    const wav = await readOutput(options, model, output);
    if (converted !== undefined) {
      const [muxer, contentType] = converted;
      const made = `${folder}/converted`;
      await convert(options, folder, signal, output, ["-f", muxer, made]);
      return sound(await readOutput(options, model, made), contentType);
    }
    const spoken = readWav(wav);
    if (spoken === undefined) throw failed(model, "wrote no WAV file");
    return format === "pcm"
      ? sound(rawSamples(resample(spoken, PCM_RATE).samples), "audio/pcm")
      : sound(writeWav(spoken), "audio/wav");
  });
}

/**
 * Write down what is said in a file.
 *
 * @param model The program.
 * @param body `file` with `data` (base64), and maybe `language` and `timestamp_granularities`.
 * @param options The engine's ports.
 * @param signal Aborting it kills the program.
 * @returns `text`, `language`, `duration`, `segments` and, if asked for, `words`, or a 400 that says what can not be done.
 * @throws {Fault} When the program fails.
 */
export async function transcribe(
  model: TranscriptionProgram,
  body: JsonObject,
  options: CommandEngineOptions,
  signal: AbortSignal,
): Promise<EngineAnswer> {
  const bytes = fileBytes(body.file);
  if (bytes === null) return refusal("file", "The file could not be read");
  const language = stringOr(body.language);
  if (
    language !== null && !/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/.test(language)
  ) {
    return refusal("language", 'The language is no code such as "en"');
  }
  const { timestamp_granularities: times } = body;
  const wantsWords = Array.isArray(times) && times.includes("word");
  if (wantsWords && !timesWords(model.output)) {
    return refusal(
      "timestamp_granularities",
      `"${model.id}" does not tell when each word is spoken; ask for "segment", or for another model`,
    );
  }
  return await inFolder(options, async (folder) => {
    let heard = readWav(bytes);
    if (heard === undefined) {
      if (!await hasFfmpeg(options)) {
        return refusal(
          "file",
          `A file that is no WAV needs the program ffmpeg on "${options.nodeName}": install it there, or send WAV`,
        );
      }
      const original = `${folder}/original`;
      await options.files.writeAtomic(original, bytes, 0o600);
      const made = `${folder}/decoded.wav`;
      const form = ["-ac", "1", "-ar", String(HEARD_RATE), "-f", "wav", made];
      const end = await convert(options, folder, signal, original, form, true);
      heard = end.code === 0
        ? readWav(await readOutput(options, model, made))
        : undefined;
      if (heard === undefined) {
        return refusal("file", "The file is no sound that ffmpeg can read");
      }
    }
    const { samples, sampleRate } = heard;
    const input = `${folder}/input.wav`;
    await options.files.writeAtomic(
      input,
      writeWav(resample(heard, HEARD_RATE)),
      0o600,
    );
    const end = await runModel(model, options, folder, signal, {
      input,
      output: `${folder}/output`,
      voice: null,
      language: language ?? model.language ?? null,
      speed: null,
      wpm: null,
    }, new Uint8Array());
    checkEnd(model, end);
    const transcript = await readTranscript(options, model, folder, end);
    const { words } = transcript;
    if (wantsWords && words === null) {
      throw failed(
        model,
        "told no times of words, although its output has them",
      );
    }
    const answer: JsonObject = {
      text: transcript.text,
      language: transcript.language ?? model.language ?? language,
      duration: samples.length / sampleRate,
      segments: transcript.segments.map((segment) => ({ ...segment })),
      ...(wantsWords && words !== null
        ? { words: words.map((word) => ({ ...word })) }
        : {}),
    };
    return jsonAnswer(200, answer);
  });
}

function timesWords(output: TranscriptForm): boolean {
  switch (output) {
    case "sphinx":
    case "whisper-json-full":
      return true;
    case "text":
    case "whisper-json":
      return false;
    default: {
      const never: never = output;
      return never;
    }
  }
}

async function readTranscript(
  options: CommandEngineOptions,
  model: TranscriptionProgram,
  folder: string,
  { output }: ProgramEnd,
): Promise<Transcript> {
  switch (model.output) {
    case "text":
      return {
        text: output.trim(),
        segments: [],
        words: null,
        language: null,
      };
    case "sphinx":
      return readSphinx(output);
    case "whisper-json":
    case "whisper-json-full": {
      const file = await readOutput(options, model, `${folder}/output.json`);
      const read = readWhisperJson(file);
      if (read === undefined) throw failed(model, "wrote no transcript");
      return read;
    }
    default: {
      const never: never = model.output;
      return never;
    }
  }
}

/** Give the work a folder of its own, whatever becomes of it. */
async function inFolder(
  { entropy, files, temporaryDir }: CommandEngineOptions,
  work: (folder: string) => Promise<EngineAnswer>,
): Promise<EngineAnswer> {
  const folder = `${temporaryDir}/covey-command-${entropy.uuid()}`;
  await files.makeFolder(folder, 0o700);
  try {
    return await work(folder);
  } finally {
    await files.remove(folder);
  }
}

function runModel(
  model: CommandModel,
  options: CommandEngineOptions,
  folder: string,
  signal: AbortSignal,
  values: PlaceholderValues,
  input: Uint8Array<ArrayBuffer>,
): Promise<ProgramEnd> {
  return runProgram({
    ...options,
    command: fillArguments(model.command, values),
    folder,
    input,
    timeLimitMs: model.timeLimitMs,
    mostBytes: MOST_TEXT_BYTES,
  }, signal);
}

const CONVERT_LIMIT_MS = 120_000;
/** What may be decoded: formats of one file each, none of them a list of other files. */
const DECODED = "wav,mp3,mov,ogg,flac,matroska,aac,aiff,amr,caf";

function hasFfmpeg({ files, env }: CommandEngineOptions): Promise<boolean> {
  return isOnPath(files, env["PATH"] ?? "", "ffmpeg");
}

async function convert(
  options: CommandEngineOptions,
  folder: string,
  signal: AbortSignal,
  from: string,
  to: readonly string[],
  mayFail = false,
): Promise<ProgramEnd> {
  const limit = ["-fs", String(MOST_OUTPUT_BYTES)];
  const end = await runProgram({
    ...options,
    command: [
      "ffmpeg",
      ..."-nostdin -loglevel error -protocol_whitelist file".split(" "),
      "-format_whitelist",
      DECODED,
      "-i",
      from,
      ...limit,
      ...to,
    ],
    folder,
    input: new Uint8Array(),
    timeLimitMs: CONVERT_LIMIT_MS,
    mostBytes: MOST_TEXT_BYTES,
  }, signal);
  if (end.code === 0 || mayFail) return end;
  throw new Fault("engine_failed", 'The program "ffmpeg" could not convert');
}

async function readOutput(
  { files }: CommandEngineOptions,
  model: CommandModel,
  path: string,
): Promise<Uint8Array<ArrayBuffer>> {
  try {
    const { sizeBytes } = await files.stat(path);
    if (sizeBytes > MOST_OUTPUT_BYTES) {
      throw failed(model, `wrote more than ${MOST_OUTPUT_BYTES} bytes`);
    }
    return await files.readBytes(path);
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    throw failed(model, "wrote no file", error);
  }
}

function checkEnd(model: CommandModel, { code }: ProgramEnd): void {
  if (code !== 0) throw failed(model, `ended with code ${code}`);
}

function failed(model: CommandModel, what: string, cause?: unknown): Fault {
  const program = baseOf(model.command[0] ?? "");
  return new Fault("engine_failed", `The program "${program}" ${what}`, {
    origin: "engine",
    cause,
  });
}

function fileBytes(
  file: JsonValue | undefined,
): Uint8Array<ArrayBuffer> | null {
  const data = isJsonObject(file) ? stringOr(file.data) : null;
  if (data === null) return null;
  try {
    return Uint8Array.fromBase64(data);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function stringOr(value: JsonValue | undefined): string | null {
  return typeof value === "string" ? value : null;
}

function sound(
  bytes: Uint8Array<ArrayBuffer>,
  contentType: string,
): EngineAnswer {
  return {
    status: 200,
    contentType,
    retryAfter: null,
    body: new Blob([bytes]).stream(),
  };
}

function jsonAnswer(status: number, json: JsonObject): EngineAnswer {
  return {
    status,
    contentType: "application/json",
    retryAfter: null,
    body: new Blob([JSON.stringify(json)]).stream(),
  };
}

function refusal(param: string, message: string): EngineAnswer {
  return jsonAnswer(400, {
    error: { message, type: "invalid_request_error", param, code: null },
  });
}
