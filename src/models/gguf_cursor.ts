import type { OpenFile } from "../platform/mod.ts";
import { GgufError } from "./gguf_error.ts";

/** Bytes held at a time, whatever a header claims. */
const WINDOW_BYTES = 64 * 1024;

/**
 * Farthest a header may reach. The largest vocabularies in use (256,000 tokens
 * with merges) take about 16 MiB.
 */
export const LONGEST_HEADER_BYTES = 64 * 1024 * 1024;

/**
 * A place in a GGUF header that moves forward only, over one small window of
 * the file. Reads are synchronous while `has` says so; `fill` brings more.
 */
export class GgufCursor {
  readonly #file: Pick<OpenFile, "read">;
  readonly #sizeBytes: number;
  #view = new DataView(new ArrayBuffer(0));
  #windowAt = 0;
  #position = 0;

  /**
   * @param file The open file.
   * @param sizeBytes Its size.
   */
  constructor(file: Pick<OpenFile, "read">, sizeBytes: number) {
    this.#file = file;
    this.#sizeBytes = sizeBytes;
  }

  /** Bytes from the start of the file. */
  get position(): number {
    return this.#position;
  }

  /** Bytes of the file that lie ahead. */
  get remaining(): number {
    return this.#sizeBytes - this.#position;
  }

  /** Whether the next `count` bytes are in the window. */
  has(count: number): boolean {
    return this.#position >= this.#windowAt &&
      this.#position + count <= this.#windowAt + this.#view.byteLength;
  }

  /**
   * Make the next bytes readable.
   *
   * @param count At most the window's size.
   * @throws {GgufError} When the file ends before, or the header is too long.
   */
  async fill(count: number): Promise<void> {
    if (this.has(count)) return;
    this.#expect(count);
    const bytes = await this.#file.read(
      this.#position,
      Math.min(WINDOW_BYTES, this.remaining),
    );
    this.#view = new DataView(
      bytes.buffer,
      bytes.byteOffset,
      bytes.byteLength,
    );
    this.#windowAt = this.#position;
    // The file may have shrunk since its size was taken.
    if (!this.has(count)) throw endsEarly();
  }

  /**
   * Pass over bytes without reading them.
   *
   * @throws {GgufError} When the file ends before, or the header is too long.
   */
  skip(count: number): void {
    this.#expect(count);
    this.#position += count;
  }

  /** Next byte; the caller has made sure of it by `has` or `fill`, as for all below. */
  u8(): number {
    return this.#view.getUint8(this.#take(1));
  }

  u16(): number {
    return this.#view.getUint16(this.#take(2), true);
  }

  u32(): number {
    return this.#view.getUint32(this.#take(4), true);
  }

  /** An unsigned 64-bit integer; beyond 2^53 only its size is right, which is enough to refuse it. */
  u64(): number {
    const at = this.#take(8);
    return this.#view.getUint32(at, true) +
      this.#view.getUint32(at + 4, true) * 2 ** 32;
  }

  /** A copy of the next bytes. */
  bytes(count: number): Uint8Array<ArrayBuffer> {
    const at = this.#take(count);
    return new Uint8Array(
      this.#view.buffer.slice(
        this.#view.byteOffset + at,
        this.#view.byteOffset + at + count,
      ),
    );
  }

  /** The next bytes as text, without moving. */
  peekText(count: number): string {
    const at = this.#position - this.#windowAt;
    return new TextDecoder("latin1").decode(
      new Uint8Array(this.#view.buffer, this.#view.byteOffset + at, count),
    );
  }

  #take(count: number): number {
    const at = this.#position - this.#windowAt;
    this.#position += count;
    return at;
  }

  #expect(count: number): void {
    if (count > this.remaining) throw endsEarly();
    if (this.#position + count > LONGEST_HEADER_BYTES) {
      throw new GgufError(
        "bad_header",
        `The header is longer than ${LONGEST_HEADER_BYTES} bytes`,
      );
    }
  }
}

function endsEarly(): GgufError {
  return new GgufError(
    "truncated",
    "The file ends inside its header: it is truncated or damaged, copy it again",
  );
}
