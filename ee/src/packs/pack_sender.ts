import type { IncomingMessage, ServerResponse } from "node:http";
import type { PackShelf } from "@covey/core/domain";
import type { CopyPace } from "../copy/copy_pace.ts";
import { PACKS_PATH } from "./packs_path.ts";
import { encodeHeld, parsePiecePath, PIECE_BYTES } from "./pack_wire.ts";

/** Pieces that are sent at a time, each held in memory whole. */
const MOST_SENDING = 4;

/** What sending needs. */
export interface PackSenderOptions {
  readonly shelf: PackShelf;
  /** Holds it back while callers are answered. */
  readonly pace: Pick<CopyPace, "turn">;
  /** Aborts when the node stops. */
  readonly life: AbortSignal;
}

/** Tells members which archives of engine packs lie here, and hands them out. */
export class PackSender {
  readonly #options: PackSenderOptions;
  #sending = 0;

  constructor(options: PackSenderOptions) {
    this.#options = options;
  }

  /** Answer a request at or below the path of packs. */
  async answer(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    if (request.method !== "GET") return nothing(response);
    if (path === PACKS_PATH) {
      const { shelf } = this.#options;
      const lists = await Promise.all([shelf.list(), shelf.unkept()]);
      const [archives, unkept] = lists.map((list) =>
        list.map(({ integrity }) => integrity)
      );
      const held = encodeHeld(archives ?? [], unkept ?? []);
      return send(response, 200, "application/json", held);
    }
    const piece = parsePiecePath(path);
    if (piece === undefined) return nothing(response);
    if (this.#sending >= MOST_SENDING) {
      const busy = new TextEncoder().encode("This node sends to many\n");
      return send(response, 503, "text/plain", busy);
    }
    const { life, pace, shelf } = this.#options;
    this.#sending++;
    try {
      using _turn = await pace.turn(PIECE_BYTES, life);
      const offset = piece.index * PIECE_BYTES;
      const bytes = await shelf.read(piece.integrity, offset, PIECE_BYTES);
      if (bytes === null) return nothing(response);
      send(response, 200, "application/octet-stream", bytes);
    } finally {
      this.#sending--;
    }
  }
}

function nothing(response: ServerResponse): void {
  const text = new TextEncoder().encode("There is no such pack here\n");
  send(response, 404, "text/plain", text);
}

function send(
  response: ServerResponse,
  status: number,
  type: string,
  bytes: Uint8Array,
): void {
  response.writeHead(status, {
    "content-type": type,
    "content-length": bytes.length,
  });
  response.end(bytes);
}
