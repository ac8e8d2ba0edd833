import { Duplex } from "node:stream";
import type { Buffer } from "node:buffer";
import type { LinkSocket } from "../../src/link/link_sockets.ts";

/** One end of a connection in memory. */
export interface SocketEnd {
  /** Address of the other end. */
  readonly remoteAddress: string;
  readonly remotePort: number;
  /** Whether reading goes on when the other side ended. */
  readonly allowHalfOpen: boolean;
  /** Certificate of the other end, DER. */
  readonly certificate: Uint8Array;
  /** Carries what is done to the other end, in order, as soon as the network lets it. */
  carry(arrive: () => void): void;
}

/** A connection in memory: what is written arrives at the other end when the network carries it. */
export class MemorySocket extends Duplex implements LinkSocket {
  /** Read by HTTP, which treats a connection without TLS alike. */
  readonly encrypted = true;
  readonly #end: SocketEnd;
  #other: MemorySocket | null = null;
  #isSecure = false;
  #saidEnd = false;
  /** Told when this end has read what it has. */
  #onRead: (() => void) | null = null;

  constructor(end: SocketEnd) {
    super({ allowHalfOpen: end.allowHalfOpen });
    this.#end = end;
  }

  get remoteAddress(): string {
    return this.#end.remoteAddress;
  }

  get remotePort(): number {
    return this.#end.remotePort;
  }

  /** Put two ends together. */
  join(other: MemorySocket): void {
    this.#other = other;
    other.#other = this;
  }

  /** Both ends know each other now. */
  secure(): void {
    this.#isSecure = true;
    this.emit("secureConnect");
  }

  getPeerCertificate(): { readonly raw: Uint8Array } {
    return { raw: this.#end.certificate };
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  setTimeout(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once("finish", () => this.destroy());
  }

  override _read(): void {
    const onRead = this.#onRead;
    this.#onRead = null;
    onRead?.();
  }

  override _write(
    chunk: Buffer,
    _encoding: string,
    done: (error?: Error | null) => void,
  ): void {
    this.#end.carry(() => {
      const other = this.#other;
      if (other === null || other.destroyed || other.readableEnded) {
        this.destroy(codedError("ECONNRESET"));
        done();
      } else if (other.push(chunk)) done();
      else other.#onRead = done;
    });
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#sayEnd();
    done();
  }

  override _destroy(
    error: Error | null,
    done: (error?: Error | null) => void,
  ): void {
    this._read();
    this.#sayEnd();
    done(error);
  }

  #sayEnd(): void {
    if (this.#saidEnd) return;
    this.#saidEnd = true;
    this.#end.carry(() => {
      const other = this.#other;
      if (other === null || other.destroyed) return;
      if (!other.#isSecure) {
        other.destroy();
        return;
      }
      other.push(null);
      other.read(0);
    });
  }
}

/** An error of the network, by the system's word for it. */
export function codedError(code: string): Error {
  return Object.assign(new Error(code), { code });
}
