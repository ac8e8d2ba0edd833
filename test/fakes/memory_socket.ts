import type { Socket } from "../../src/engines/plain_http/socket.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A connection whose other end is the test's. */
export class MemorySocket implements Socket {
  /** What was written so far, as text. */
  written = "";
  isClosed = false;
  /** Reads begun so far. */
  reads = 0;
  /** Bytes that are taken before writing waits; what was taken counts. */
  takes: number = Infinity;
  /** What writing fails with from now on. */
  writeError: Error | null = null;
  #coming: (Uint8Array | null)[] = [];
  #waiting: {
    readonly into: Uint8Array;
    resolve(size: number | null): void;
    reject(error: Error): void;
  } | null = null;
  readonly #stuck: ((error: Error) => void)[] = [];
  #asked = Promise.withResolvers<void>();

  /** Resolves when more was written. */
  get asked(): Promise<void> {
    return this.#asked.promise;
  }

  /** The other end sends. */
  say(what: string | Uint8Array): void {
    this.#coming.push(typeof what === "string" ? encoder.encode(what) : what);
    this.#hand();
  }

  /** The other end closes. */
  end(): void {
    this.#coming.push(null);
    this.#hand();
  }

  read(into: Uint8Array): Promise<number | null> {
    this.reads++;
    if (this.#waiting !== null) throw new Error("Two reads at once");
    if (this.isClosed) return Promise.reject(closed());
    return new Promise((resolve, reject) => {
      this.#waiting = { into, resolve, reject };
      this.#hand();
    });
  }

  write(bytes: Uint8Array): Promise<number> {
    if (this.isClosed) return Promise.reject(closed());
    if (this.writeError !== null) return Promise.reject(this.writeError);
    const taken = Math.min(bytes.length, this.takes);
    if (taken === 0) {
      return new Promise((_, reject) => this.#stuck.push(reject));
    }
    this.takes -= taken;
    this.written += decoder.decode(bytes.subarray(0, taken));
    this.#asked.resolve();
    this.#asked = Promise.withResolvers();
    return Promise.resolve(taken);
  }

  /** The other end stops taking what is written. */
  breakWrites(): void {
    this.writeError = new Deno.errors.BrokenPipe("Broken pipe");
    for (const reject of this.#stuck.splice(0)) reject(this.writeError);
  }

  close(): void {
    if (this.isClosed) throw new Deno.errors.BadResource("Closed twice");
    this.isClosed = true;
    this.#waiting?.reject(closed());
    this.#waiting = null;
    for (const reject of this.#stuck.splice(0)) reject(closed());
  }

  #hand(): void {
    const next = this.#coming[0];
    if (this.#waiting === null || next === undefined) return;
    const { into, resolve } = this.#waiting;
    this.#waiting = null;
    this.#coming.shift();
    if (next === null) return resolve(null);
    const part = next.subarray(0, into.length);
    into.set(part);
    if (part.length < next.length) {
      this.#coming.unshift(next.subarray(part.length));
    }
    resolve(part.length);
  }
}

function closed(): Error {
  return new Deno.errors.BadResource("Bad resource ID");
}

/** A way to a server, whose connections are kept for the test. */
export function memoryDial() {
  const sockets: MemorySocket[] = [];
  const dial = () => {
    const socket = new MemorySocket();
    sockets.push(socket);
    return Promise.resolve(socket);
  };
  return { dial, sockets };
}
