import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { CHUNK_BYTES, type Log, type ModelManifest } from "@covey/core/domain";
import type { Chunk } from "./chunk_plan.ts";
import { planChunks } from "./chunk_plan.ts";
import { encodeManifest } from "./copy_manifest.ts";
import type { CopyPace } from "./copy_pace.ts";
import type { FindHolding, HeldChunks, Holding } from "./holding.ts";
import { parseModelPath } from "./model_path.ts";

/** Answers that may hold a chunk in memory at once; others are asked to come again. */
const MOST_SENDING = 32;

/** Chunks' memory that is kept for the next ones. */
const MOST_SPARE = 4;

/**
 * Bytes given to a connection at once. Of a write of megabytes the runtime moves
 * what is left with each record it makes: ten times the work of small ones.
 */
const PIECE_BYTES = 64 * 1024;

/** What sending needs. */
export interface SenderOptions {
  readonly find: FindHolding;
  readonly pace: CopyPace;
  readonly log: Log;
  /** Aborts when the node stops. */
  readonly life: AbortSignal;
}

/** A file of which chunks lie here. */
export interface HeldFile extends HeldChunks {
  /** For the log. */
  readonly model: string;
  /** All chunks of the file. */
  readonly chunks: readonly Chunk[];
  /** What the disk gave of a chunk is not what its digest says. */
  onBad(chunk: Chunk): void;
}

/**
 * How a chunk went: `gone` where the other side left, `bad` where what this
 * disk gave is not what its digest says, and its last piece was kept back.
 */
type Sent = "whole" | "gone" | "bad";

/**
 * Hands a model's manifest and bytes to members. Each chunk is hashed as it
 * streams, and its last piece goes once the whole is what its digest says: where
 * the disk gives something else, no member gets a whole chunk of it, and this
 * node stops to offer the model.
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
        return await this.send(
          {
            model: holding.manifest.model,
            chunks: this.#planOf(holding.manifest).filter(({ file }) =>
              file === asked.file
            ),
            has: (chunk) => holding.has(chunk),
            read: (...place) => holding.read(...place),
            onBad: (chunk) => this.#withdraw(holding, chunk),
          },
          request,
          response,
        );
      default:
        return asked satisfies never;
    }
  }

  /** Answer a GET of a part of a file, in whole chunks. */
  async send(
    holding: HeldFile,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { life, pace } = this.#options;
    const last = holding.chunks.at(-1);
    if (last === undefined) return say(response, 404, "There is no such file");
    const size = last.offset + last.length;
    const range = chunkRange(request.headers.range, size);
    if (range === undefined) {
      return say(response, 416, "Whole chunks are given, and they alone");
    }
    const chunks = holding.chunks.filter(({ offset }) =>
      offset >= range.start && offset < range.end
    );
    if (!chunks.every((chunk) => holding.has(chunk))) {
      return say(response, 404, "This node does not have that part yet");
    }
    if (this.#sending >= MOST_SENDING) {
      return say(response, 503, "This node sends to many; ask again");
    }
    this.#sending++;
    const room = this.#spare.pop() ?? new Uint8Array(CHUNK_BYTES);
    using line = new ResponseLine(response, response.req.socket);
    const ends = AbortSignal.any([life, line.ends]);
    try {
      for (const chunk of chunks) {
        using _turn = await pace.turn(chunk.length, ends);
        // A disk that never answers keeps neither its reader nor this node's end.
        const bytes = await line.orGone(this.#read(holding, chunk, room));
        if (bytes === false) return;
        const sent = bytes === null
          ? "bad"
          : await streamChunk(line, chunk, bytes, () =>
            response.headersSent || response.writeHead(206, {
              "content-type": "application/octet-stream",
              "content-length": range.end - range.start,
              "content-range": `bytes ${range.start}-${range.end - 1}/${size}`,
            }));
        if (sent === "whole") continue;
        if (sent === "bad" && bytes !== null) holding.onBad(chunk);
        if (sent === "gone" || response.headersSent) response.destroy();
        else say(response, 410, "This node's copy is damaged");
        return;
      }
      response.end();
      // Where a write was cut short, nobody knows until when it is read.
      if (this.#spare.length < MOST_SPARE) this.#spare.push(room);
    } finally {
      this.#sending--;
    }
  }

  async #read(
    holding: HeldFile,
    chunk: Chunk,
    room: Uint8Array<ArrayBuffer>,
  ): Promise<Uint8Array<ArrayBuffer> | null> {
    const { log } = this.#options;
    // A relay's own copy may have ended meanwhile: null, which is gone, not bad.
    return await holding.read(chunk, room).catch((error) => {
      log.warn("Failed to read a model that a member copies", {
        model: holding.model,
        reason: error instanceof Error ? error.message : String(error),
      });
      return null;
    });
  }

  #withdraw({ manifest: { model, root } }: Holding, chunk: Chunk): void {
    this.#withdrawn.add(root);
    this.#options.log.error(
      "A model's bytes on this disk are not those of its digests: members get no copy of it from here; check the disk, then fetch the model again",
      { model, file: chunk.file, offset: chunk.offset },
    );
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

/** Send a chunk piece by piece; `begin` writes the head unless it is out, once there is something to follow it. */
async function streamChunk(
  line: ResponseLine,
  { digest, length }: Chunk,
  bytes: Uint8Array<ArrayBuffer>,
  begin: () => void,
): Promise<Sent> {
  if (bytes.length !== length) return "bad";
  const hash = createHash("sha256");
  for (let at = 0; at < length; at += PIECE_BYTES) {
    const piece = bytes.subarray(at, at + PIECE_BYTES);
    hash.update(piece);
    const isLast = at + PIECE_BYTES >= length;
    if (isLast && hash.digest("hex") !== digest) return "bad";
    begin();
    if (!await line.write(piece)) return "gone";
  }
  return "whole";
}

/** Writes to an answer, and knows when the other side is gone. */
class ResponseLine implements Disposable {
  readonly #response: ServerResponse;
  readonly #socket: Socket;
  readonly #gone = Promise.withResolvers<false>();
  readonly #life = new AbortController();
  readonly #onClose = () => {
    this.#gone.resolve(false);
    this.#life.abort(new DOMException("The member left", "AbortError"));
  };

  constructor(response: ServerResponse, socket: Socket) {
    this.#response = response;
    // An answer that waits for the one before it does not hear of the end.
    this.#socket = socket;
    socket.once("close", this.#onClose);
    if (socket.destroyed || response.destroyed) this.#onClose();
  }

  /** Aborts when the other side is gone. */
  get ends(): AbortSignal {
    return this.#life.signal;
  }

  /** Wait for something, as long as there is somebody to have it; else false. */
  orGone<Result>(coming: Promise<Result>): Promise<Result | false> {
    return Promise.race([coming, this.#gone.promise]);
  }

  /** Wait until a piece was taken; false when nobody takes it. */
  write(piece: Uint8Array<ArrayBuffer>): Promise<boolean> {
    const taken = new Promise<boolean>((resolve) => {
      this.#response.write(piece, (error) => resolve(!error));
    });
    return this.orGone(taken);
  }

  [Symbol.dispose](): void {
    this.#socket.off("close", this.#onClose);
  }
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
