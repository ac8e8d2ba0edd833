/** What came of one request, with times of `performance.now()`. */
export interface RawAnswer {
  readonly status: number;
  /** From the request's first byte to the first byte of the answer's body, in milliseconds. */
  readonly firstByteMs: number;
  /** From the request's first byte to the answer's last, in milliseconds. */
  readonly totalMs: number;
  /** Events of a stream, the terminator included. */
  readonly events: number;
  /** The last bytes of the body, as text. */
  readonly tail: string;
}

const CR = 0x0d;
const LF = 0x0a;
const TAIL_BYTES = 256;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * One kept connection that posts JSON, by hand: a benchmark's own client must
 * cost less than what it measures, and every library's costs more.
 */
export class RawHttp implements Disposable {
  readonly #connection: Deno.TcpConn;
  readonly #buffer: Uint8Array<ArrayBuffer> = new Uint8Array(256 * 1024);

  private constructor(connection: Deno.TcpConn) {
    this.#connection = connection;
  }

  /**
   * Connect.
   *
   * @param url Base address of a plain HTTP server.
   */
  static async open(url: string): Promise<RawHttp> {
    const { hostname, port } = new URL(url);
    const connection = await Deno.connect({ hostname, port: Number(port) });
    connection.setNoDelay();
    return new RawHttp(connection);
  }

  /**
   * Send a request prepared by `rawPost` and read its answer.
   *
   * @throws {Error} When the connection ends early, or what comes is no HTTP.
   */
  async ask(request: Uint8Array<ArrayBuffer>): Promise<RawAnswer> {
    const startedMs = performance.now();
    await this.#write(request);
    const reader = new AnswerReader();
    for (;;) {
      const size = await this.#connection.read(this.#buffer);
      if (size === null) throw new Error("The connection ended early");
      const nowMs = performance.now();
      if (reader.take(this.#buffer.subarray(0, size), nowMs)) {
        const { status, events, tail, firstByteAtMs } = reader;
        return {
          status,
          firstByteMs: firstByteAtMs - startedMs,
          totalMs: nowMs - startedMs,
          events,
          tail,
        };
      }
    }
  }

  async #write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      at += await this.#connection.write(bytes.subarray(at));
    }
  }

  [Symbol.dispose](): void {
    this.#connection.close();
  }
}

/**
 * Prepare a request.
 *
 * @param url Base address.
 * @param path Path with a leading slash.
 * @param body Sent as JSON.
 * @param headers Further ones.
 */
export function rawPost(
  url: string,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Uint8Array<ArrayBuffer> {
  const bytes = encoder.encode(JSON.stringify(body));
  const lines = [
    `POST ${path} HTTP/1.1`,
    `host: ${new URL(url).host}`,
    "content-type: application/json",
    `content-length: ${bytes.length}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  const head = encoder.encode(`${lines.join("\r\n")}\r\n\r\n`);
  const whole = new Uint8Array(head.length + bytes.length);
  whole.set(head);
  whole.set(bytes, head.length);
  return whole;
}

/** Reads one answer: its head, then a body by length or in chunks (RFC 9112). */
class AnswerReader {
  status = 0;
  firstByteAtMs = NaN;
  events = 0;
  #head = "";
  #inBody = false;
  /** Body bytes to come, or of this chunk; -1 while a chunk's size is read. */
  #left = -1;
  #chunked = false;
  #sizeLine = "";
  #last = 0;
  #tail: Uint8Array = new Uint8Array();

  get tail(): string {
    return decoder.decode(this.#tail);
  }

  /** Take bytes in; true once the answer is whole. */
  take(bytes: Uint8Array, nowMs: number): boolean {
    let at = 0;
    if (!this.#inBody) {
      const before = this.#head.length;
      this.#head += decoder.decode(bytes);
      const end = this.#head.indexOf("\r\n\r\n");
      if (end < 0) return false;
      at = end + 4 - before;
      this.#begin(this.#head.slice(0, end).toLowerCase());
      if (!this.#chunked && this.#left === 0) {
        this.firstByteAtMs = nowMs;
        return true;
      }
    }
    if (at < bytes.length && Number.isNaN(this.firstByteAtMs)) {
      this.firstByteAtMs = nowMs;
    }
    return this.#chunked ? this.#chunks(bytes, at) : this.#plain(bytes, at);
  }

  #begin(head: string): void {
    this.#inBody = true;
    this.status = Number(/^http\/1\.1 (\d{3})/.exec(head)?.[1]);
    this.#chunked = /\r\ntransfer-encoding: *chunked/.test(head);
    const length = /\r\ncontent-length: *(\d+)/.exec(head)?.[1];
    if (!this.#chunked) this.#left = Number(length ?? NaN);
    if (Number.isNaN(this.status) || Number.isNaN(this.#left)) {
      throw new Error(`Cannot read an answer that begins: ${head}`);
    }
  }

  #plain(bytes: Uint8Array, from: number): boolean {
    this.#body(bytes.subarray(from));
    this.#left -= bytes.length - from;
    return this.#left <= 0;
  }

  #chunks(bytes: Uint8Array, from: number): boolean {
    for (let at = from; at < bytes.length;) {
      if (this.#left > 0) {
        const piece = bytes.subarray(at, at + this.#left);
        this.#body(piece);
        this.#left -= piece.length;
        at += piece.length;
        if (this.#left === 0) this.#left = -1;
        continue;
      }
      const byte = bytes[at++];
      if (byte === CR) continue;
      if (byte !== LF) {
        this.#sizeLine += String.fromCharCode(byte ?? 0);
        continue;
      }
      // The line end behind a chunk, or that of its size.
      if (this.#sizeLine === "") {
        if (this.#left === 0) return true;
        continue;
      }
      this.#left = parseInt(this.#sizeLine, 16);
      this.#sizeLine = "";
    }
    return false;
  }

  #body(piece: Uint8Array): void {
    for (let at = piece.indexOf(LF); at >= 0; at = piece.indexOf(LF, at + 1)) {
      if ((at > 0 ? piece[at - 1] : this.#last) === LF) this.events++;
    }
    this.#last = piece[piece.length - 1] ?? this.#last;
    const both = new Uint8Array(this.#tail.length + piece.length);
    both.set(this.#tail);
    both.set(piece, this.#tail.length);
    this.#tail = both.subarray(Math.max(0, both.length - TAIL_BYTES));
  }
}
