import type { JsonObject } from "../../src/domain/mod.ts";
import type {
  Child,
  ExitStatus,
  Processes,
  SpawnOptions,
} from "../../src/platform/mod.ts";

/** A child that a test plays. */
export class FakeChild implements Child {
  readonly pid: number;
  readonly options: SpawnOptions;
  readonly signals: string[] = [];
  /** Everything written to its standard input. */
  input = "";
  /** Whether SIGTERM ends it. */
  obeys = true;
  /** Whether anybody takes what is written to its standard input. */
  reads = true;
  readonly #exit = Promise.withResolvers<ExitStatus>();
  readonly exited = this.#exit.promise;
  #out: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | null = null;
  #err: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | null = null;
  readonly stdout = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (controller) => {
      this.#out = controller;
    },
  });
  readonly stderr = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (controller) => {
      this.#err = controller;
    },
  });
  readonly stdin = new WritableStream<Uint8Array<ArrayBuffer>>({
    write: async (bytes) => {
      if (!this.reads) await new Promise(() => {});
      this.input += new TextDecoder().decode(bytes);
    },
  });

  constructor(pid: number, options: SpawnOptions) {
    this.pid = pid;
    this.options = options;
  }

  /** Print an event. */
  say(event: JsonObject): void {
    this.#out?.enqueue(new TextEncoder().encode(`${JSON.stringify(event)}\n`));
  }

  /** Say that it is ready, with two slots of 2,048 tokens. */
  becomeReady(): void {
    this.say({ event: "ready", loadTimeMs: 1, contextLength: 2048, slots: 2 });
  }

  /** Print to standard output. */
  print(text: string): void {
    this.#out?.enqueue(new TextEncoder().encode(text));
  }

  /** Print to standard error. */
  complain(text: string): void {
    this.#err?.enqueue(new TextEncoder().encode(text));
  }

  /** End. */
  exit(code: number, signal: string | null = null): void {
    this.#out?.close();
    this.#err?.close();
    this.#out = this.#err = null;
    this.#exit.resolve({ code, signal });
  }

  kill(signal: "SIGTERM" | "SIGKILL"): void {
    this.signals.push(signal);
    if (signal === "SIGKILL") this.exit(137, "SIGKILL");
    else if (this.obeys) this.exit(143, "SIGTERM");
  }
}

/** Children that a test plays, in the order in which they were started. */
export class FakeProcesses implements Processes {
  readonly self = ["covey"];
  readonly children: FakeChild[] = [];
  /** Called with every new child. */
  onSpawn: (child: FakeChild) => void = () => {};
  /** Set to make the next start throw. */
  failure: Error | null = null;

  spawn(options: SpawnOptions): Child {
    if (this.failure !== null) throw this.failure;
    const child = new FakeChild(100 + this.children.length, options);
    this.children.push(child);
    this.onSpawn(child);
    return child;
  }

  /** The child started last. */
  get last(): FakeChild {
    const last = this.children.at(-1);
    if (last === undefined) throw new Error("No child was started");
    return last;
  }
}
