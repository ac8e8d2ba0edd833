import type { IncomingMessage, ServerResponse } from "node:http";
import { CHUNK_BYTES, type Log, type ModelManifest } from "@covey/core/domain";
import type { Chunk } from "./chunk_plan.ts";
import { planChunks } from "./chunk_plan.ts";
import { encodeManifest } from "./copy_manifest.ts";
import type { CopyPace } from "./copy_pace.ts";
import { sha256 } from "./gather.ts";
import type { FindHolding, Holding } from "./holding.ts";
import { parseModelPath } from "./model_path.ts";

/** Answers that may hold a chunk in memory at once; others are asked to come again. */
const MOST_SENDING = 32;

/** Chunks' memory that is kept for the next ones. */
const MOST_SPARE = 2;

/** What sending needs. */
export interface SenderOptions {
  readonly find: FindHolding;
  readonly pace: CopyPace;
  readonly log: Log;
  /** Aborts when the node stops. */
  readonly life: AbortSignal;
}

/**
 * Hands a model's manifest and bytes to members. Each chunk is compared with
 * its digest before it goes: where the disk gives something else, this node
 * stops to offer the model.
 */
export class ModelSender {
  readonly #options: SenderOptions;
  readonly #withdrawn = new Set<string>();
  readonly #plans = new WeakMap<ModelManifest, readonly Chunk[]>();
  /** Memory of chunks that were sent, for the next ones. */
  readonly #spare: Uint8Array<ArrayBuffer>[] = [];
  #sending = 0;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  /** Answer a GET below the path of models. */
  async answer(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const asked = parseModelPath(path);
    if (asked === undefined) return say(response, 404, "There is no such path");
    const holding = this.#withdrawn.has(asked.root)
      ? null
      : await this.#options.find(asked.root);
    if (holding === null) {
      return say(response, 404, "This node does not have that model");
    }
    switch (asked.kind) {
      case "manifest":
        return send(response, encodeManifest(holding.manifest));
      case "held":
        return send(
          response,
          new TextEncoder().encode(JSON.stringify({ held: holding.held() })),
        );
      case "file":
        return await this.#file(holding, asked.file, request, response);
      default:
        return asked satisfies never;
    }
  }

  async #file(
    holding: Holding,
    file: number,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { life, pace } = this.#options;
    const { manifest } = holding;
    const size = manifest.files[file]?.sizeBytes;
    if (size === undefined) return say(response, 404, "There is no such file");
    const range = chunkRange(request.headers.range, size);
    if (range === undefined) {
      return say(response, 416, "Whole chunks are given, and they alone");
    }
    const chunks = this.#planOf(manifest).filter((chunk) =>
      chunk.file === file && chunk.offset >= range.start &&
      chunk.offset < range.end
    );
    if (!chunks.every((chunk) => holding.has(chunk))) {
      return say(response, 404, "This node does not have that part yet");
    }
    if (this.#sending >= MOST_SENDING) {
      return say(response, 503, "This node sends to many; ask again");
    }
    this.#sending++;
    const room = this.#spare.pop() ?? new Uint8Array(CHUNK_BYTES);
    try {
      for (const chunk of chunks) {
        await pace.turn(chunk.length, life);
        const bytes = await this.#read(holding, chunk, room);
        if (bytes === null) {
          if (response.headersSent) response.destroy();
          else say(response, 410, "This node's copy is damaged");
          return;
        }
        if (!response.headersSent) {
          response.writeHead(206, {
            "content-type": "application/octet-stream",
            "content-length": range.end - range.start,
            "content-range": `bytes ${range.start}-${range.end - 1}/${size}`,
          });
        }
        if (!await written(response, bytes)) return;
      }
      response.end();
      // Where a write was cut short, nobody knows until when it is read.
      if (this.#spare.length < MOST_SPARE) this.#spare.push(room);
    } finally {
      this.#sending--;
    }
  }

  async #read(
    holding: Holding,
    chunk: Chunk,
    room: Uint8Array<ArrayBuffer>,
  ): Promise<Uint8Array<ArrayBuffer> | null> {
    const { log } = this.#options;
    const { model, root } = holding.manifest;
    const bytes = await holding.read(chunk, room).catch((error) => {
      log.warn("Failed to read a model that a member copies", {
        model,
        reason: error instanceof Error ? error.message : String(error),
      });
      return null;
    });
    if (bytes !== null && sha256(bytes) === chunk.digest) return bytes;
    // A relay's own copy may have ended meanwhile; what lies there is gone, not bad.
    if (bytes === null) return null;
    this.#withdrawn.add(root);
    log.error(
      "A model's bytes on this disk are not those of its digests: members get no copy of it from here; check the disk, then fetch the model again",
      { model, file: chunk.file, offset: chunk.offset },
    );
    return null;
  }

  #planOf(manifest: ModelManifest): readonly Chunk[] {
    const plan = this.#plans.get(manifest) ?? planChunks(manifest.files);
    this.#plans.set(manifest, plan);
    return plan;
  }
}

/** A range of whole chunks, its end exclusive; undefined where it is none. */
function chunkRange(
  header: string | undefined,
  size: number,
): { readonly start: number; readonly end: number } | undefined {
  const [, first, last] = /^bytes=(\d{1,15})-(\d{1,15})$/.exec(header ?? "") ??
    [];
  const start = Number(first ?? NaN);
  const end = Math.min(size, Number(last ?? NaN) + 1);
  return start % CHUNK_BYTES === 0 && start < end &&
      (end === size || end % CHUNK_BYTES === 0)
    ? { start, end }
    : undefined;
}

/** Returns false when the other side is gone. */
function written(
  response: ServerResponse,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  if (response.destroyed) return Promise.resolve(false);
  return new Promise((resolve) => {
    const onClose = () => resolve(false);
    response.once("close", onClose);
    response.write(bytes, (error) => {
      response.off("close", onClose);
      resolve(!error);
    });
  });
}

function send(response: ServerResponse, bytes: Uint8Array): void {
  response.writeHead(200, {
    "content-type": "application/json",
    "content-length": bytes.length,
  });
  response.end(bytes);
}

function say(response: ServerResponse, status: number, text: string): void {
  const bytes = new TextEncoder().encode(`${text}\n`);
  response.writeHead(status, {
    "content-type": "text/plain",
    "content-length": bytes.length,
  });
  response.end(bytes);
}
