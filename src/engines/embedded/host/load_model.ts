import { basename } from "node:path";
import type {
  Llama,
  LlamaContextSequence,
  LlamaEmbeddingContext,
  LlamaModel,
  LlamaRankingContext,
  Token,
} from "node-llama-cpp";
import { findCallForm, type FoundForm } from "./call_form.ts";
import { ChatTemplate } from "./chat_template.ts";
import type { CardReport } from "../../card_report.ts";
import { resolvePacks } from "../../packs/resolve_packs.ts";
import type { HostOptions } from "./options.ts";

/** A model in memory with what its answers are made of. */
interface Loaded {
  readonly llama: Llama;
  readonly model: LlamaModel;
  /** Name from the header, or the file's. */
  readonly name: string;
  /** Tokens of one prompt with its answer, or of one input. */
  readonly contextLength: number;
  /** Number of tokens in the vocabulary. */
  readonly vocabularySize: number;
  /** Most tokens that are evaluated at once. */
  readonly batchSize: number;
  /** The cards it computes on, as things stand with its context made; null for none but the processor. */
  readonly card: CardReport | null;
}

/** A model that writes. */
export interface ChatModel extends Loaded {
  readonly mode: "chat";
  readonly sequences: readonly LlamaContextSequence[];
  readonly template: ChatTemplate;
  readonly callForm: FoundForm;
  /** Tokens that end an answer, found on first use. */
  endTokens(): readonly Token[];
}

/** A model that embeds. */
export interface EmbeddingModel extends Loaded {
  readonly mode: "embedding";
  readonly context: LlamaEmbeddingContext;
}

/** A model that ranks. */
export interface RankingModel extends Loaded {
  readonly mode: "rerank";
  readonly context: LlamaRankingContext;
}

/** A loaded model of any kind. */
export type LoadedModel = ChatModel | EmbeddingModel | RankingModel;

/** Where a load tells of itself. */
export interface LoadListener {
  /** Part of the weights that is loaded, 0 to 1. */
  progress(part: number): void;
  /** A line of llama.cpp's own log, warnings and worse. */
  log(line: string): void;
}

const BATCH_SIZE = 512;
const MAGIC = "GGUF";
const VERSIONS: readonly number[] = [2, 3];
/** Magic, version, number of tensors, number of metadata keys. */
const HEADER_BYTES = 24;
const MAX_ENTRIES = 1_000_000n;

/** A model that can not be loaded, with a reason for people. */
export class LoadError extends Error {
  override readonly name = "LoadError";
}

/**
 * Load a model and make its context.
 *
 * @param options What to load and how.
 * @param listener Hears of progress and of llama.cpp's log.
 * @returns The model, ready to answer.
 * @throws {LoadError} When the file is no sound GGUF, or memory does not suffice.
 */
export async function loadModel(
  options: HostOptions,
  listener: LoadListener,
): Promise<LoadedModel> {
  const file = basename(options.modelPath);
  await checkHeader(options.modelPath, file);
  const problems: string[] = [];
  try {
    return await load(options, {
      progress: (part) => listener.progress(part),
      log(line) {
        problems.push(line);
        listener.log(line);
      },
    });
  } catch (problem) {
    const said = problem instanceof Error ? problem.message : String(problem);
    const detail = lastProblem(problems);
    const reason = detail === "" || said.includes(detail)
      ? said
      : `${said} (${detail})`;
    throw new LoadError(
      `Failed to load "${file}": ${reason.replaceAll(options.modelPath, file)}`,
      { cause: problem },
    );
  }
}

/**
 * Look at a file's first bytes before others do: node-llama-cpp's reader spins
 * on counts that are not there.
 */
async function checkHeader(path: string, file: string): Promise<void> {
  const head = new Uint8Array(HEADER_BYTES);
  let length = 0;
  try {
    using opened = await Deno.open(path, { read: true });
    while (length < head.length) {
      const count = await opened.read(head.subarray(length));
      if (count === null) break;
      length += count;
    }
  } catch (problem) {
    const said = problem instanceof Error ? problem.name : String(problem);
    throw new LoadError(`Failed to open "${file}": ${said}`, {
      cause: problem,
    });
  }
  const view = new DataView(head.buffer);
  const isSound = length === head.length &&
    new TextDecoder().decode(head.subarray(0, 4)) === MAGIC &&
    VERSIONS.includes(view.getUint32(4, true)) &&
    view.getBigUint64(8, true) <= MAX_ENTRIES &&
    view.getBigUint64(16, true) <= MAX_ENTRIES;
  if (isSound) return;
  throw new LoadError(
    `Failed to load "${file}": it is no GGUF file of version 2 or 3; get the model again`,
  );
}

/** The most telling line of llama.cpp's log: the first that says what failed. */
function lastProblem(lines: readonly string[]): string {
  const telling = lines.find((line) => /error|fail|corrupt|bounds/i.test(line));
  return (telling ?? "").replace(/^(llama\.cpp )?(\w+: )+/, "").slice(0, 300);
}

async function load(
  options: HostOptions,
  listener: LoadListener,
): Promise<LoadedModel> {
  if (options.packsDir !== undefined && options.gpu === "auto") {
    resolvePacks(options.packsDir);
  }
  const { getLlama, LlamaLogLevel } = await import("node-llama-cpp");
  const llama = await getLlama({
    gpu: options.gpu === "auto" ? "auto" : false,
    build: "never",
    skipDownload: true,
    progressLogs: false,
    maxThreads: options.threads,
    logLevel: LlamaLogLevel.warn,
    logger: (level, message) =>
      listener.log(`llama.cpp ${level}: ${message.trim()}`),
  });
  const model = await llama.loadModel({
    modelPath: options.modelPath,
    // As many layers as fit beside what they keep of all the contexts.
    gpuLayers: {
      fitContext: {
        contextSize: options.contextPerSlot *
          (options.mode === "chat" ? options.slots : 1),
        embeddingContext: options.mode !== "chat",
      },
    },
    onLoadProgress: (part) => listener.progress(part),
  });
  if (llama.gpu !== false) {
    const devices = await llama.getGpuDeviceNames();
    listener.log(
      `${model.gpuLayers} layers compute on ${llama.gpu}: ${
        devices.join(", ") || "no device"
      }`,
    );
  }
  const contextLength = Math.min(
    options.contextPerSlot,
    model.trainContextSize,
  );
  const { metadata } = model.fileInfo;
  const loaded = {
    llama,
    model,
    name: metadata.general.name ?? basename(options.modelPath, ".gguf"),
    contextLength,
    vocabularySize: metadata.tokenizer.ggml.tokens.length,
  };
  if (options.mode === "embedding") {
    const context = await model.createEmbeddingContext({
      contextSize: contextLength,
      // Pooling needs all of an input in one batch.
      batchSize: contextLength,
      threads: options.threads,
    });
    return {
      ...loaded,
      mode: "embedding",
      context,
      batchSize: contextLength,
      card: await reportCard(llama, model),
    };
  }
  if (options.mode === "rerank") {
    const context = await model.createRankingContext({
      contextSize: contextLength,
      batchSize: contextLength,
      threads: options.threads,
    });
    return {
      ...loaded,
      mode: "rerank",
      context,
      batchSize: contextLength,
      card: await reportCard(llama, model),
    };
  }
  const batchSize = Math.min(BATCH_SIZE, contextLength);
  const context = await model.createContext({
    contextSize: contextLength,
    sequences: options.slots,
    batchSize,
    threads: options.threads,
    failedCreationRemedy: false,
  });
  const template = new ChatTemplate(
    metadata.tokenizer.chat_template ?? null,
    model.tokens.bosString ?? "",
    model.tokens.eosString ?? "",
  );
  const endings = [model.tokens.eosString, model.tokens.eotString]
    .filter((text): text is string => text !== null);
  return {
    ...loaded,
    mode: "chat",
    batchSize,
    card: await reportCard(llama, model),
    sequences: Array.from(
      { length: options.slots },
      () => context.getSequence(),
    ),
    template,
    callForm: findCallForm(
      (messages, rendering) => template.render(messages, rendering),
      endings,
    ),
    endTokens: findEndTokensOnce(model),
  };
}

async function reportCard(
  llama: Llama,
  { gpuLayers }: LlamaModel,
): Promise<CardReport | null> {
  if (llama.gpu === false) return null;
  const [{ free, total, unifiedSize }, { gpuVram }] = await Promise.all([
    llama.getVramState(),
    llama.getLlamaMemoryUsage(),
  ]);
  return {
    gpu: llama.gpu,
    layers: gpuLayers,
    usedBytes: gpuVram,
    totalBytes: total,
    freeBytes: free,
    isShared: unifiedSize > 0,
  };
}

/** Large vocabularies take a while, and few requests ask. */
function findEndTokensOnce(model: LlamaModel): () => readonly Token[] {
  let found: readonly Token[] | undefined;
  return () =>
    found ??= Array.from(model.iterateAllTokens())
      .filter((token) => model.isEogToken(token));
}
