import { writeCoveyTiny } from "../../scripts/fixtures/covey_tiny.ts";
import { writeCoveyTinyRerank } from "../../scripts/fixtures/covey_tiny_rerank.ts";

/** One event of an engine process. */
export type SeenEvent = Readonly<Record<string, unknown>>;

/** An engine process under test, started as its parent would. */
export class RunningHost implements AsyncDisposable {
  readonly pid: number;
  readonly folder: string;
  readonly #child: Deno.ChildProcess;
  readonly #stdin: WritableStreamDefaultWriter<Uint8Array>;
  readonly #events: AsyncGenerator<SeenEvent, void, void>;
  readonly #client: Deno.HttpClient;
  readonly #stderr: Promise<string>;

  private constructor(child: Deno.ChildProcess, folder: string) {
    this.pid = child.pid;
    this.folder = folder;
    this.#child = child;
    this.#stdin = child.stdin.getWriter();
    this.#events = readEvents(child.stdout);
    this.#stderr = new Response(child.stderr).text();
    this.#client = Deno.createHttpClient({
      proxy: { transport: "unix", path: `${folder}/s` },
    });
  }

  static async start(args: readonly string[]): Promise<RunningHost> {
    const folder = await Deno.makeTempDir({ prefix: "covey-host-" });
    const entry = new URL("embedded_host_entry.ts", import.meta.url).pathname;
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--no-check",
        "-A",
        entry,
        ...args,
        "--socket",
        `${folder}/s`,
      ],
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const host = new RunningHost(child, folder);
    await host.#stdin.write(new TextEncoder().encode(`${TOKEN}\n`));
    return host;
  }

  /** The next event, or undefined at the end of stdout. */
  async event(): Promise<SeenEvent | undefined> {
    const next = await this.#events.next();
    return next.done ? undefined : next.value;
  }

  /** Read events until one of this name. */
  async until(name: string): Promise<SeenEvent> {
    while (true) {
      const event = await this.event();
      if (event?.event === name) return event;
      if (event === undefined || event.event === "failed") {
        throw new Error(
          `No "${name}" event, last was ${JSON.stringify(event)}`,
        );
      }
    }
  }

  /** Ask the host. */
  async ask(
    path: string,
    body?: unknown,
    options: { signal?: AbortSignal; token?: string | null } = {},
  ): Promise<Response> {
    const token = options.token === undefined ? TOKEN : options.token;
    // Deno looks the name up although the socket is what it connects to.
    return await fetch(`http://localhost${path}`, {
      client: this.#client,
      method: body === undefined ? "GET" : "POST",
      headers: token === null ? {} : { authorization: `Bearer ${token}` },
      ...(body === undefined
        ? {}
        : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
  }

  /** Ask and read JSON, whatever the status. */
  // deno-lint-ignore no-explicit-any
  async json(path: string, body?: unknown): Promise<any> {
    return await (await this.ask(path, body)).json();
  }

  /** End stdin, as a dying parent does. */
  async endStdin(): Promise<void> {
    await this.#stdin.close();
  }

  kill(signal: Deno.Signal): void {
    this.#child.kill(signal);
  }

  /** Wait for the exit. */
  async exit(): Promise<{ code: number; stderr: string }> {
    const { code } = await this.#child.status;
    return { code, stderr: await this.#stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client.close();
    try {
      this.#child.kill("SIGKILL");
    } catch (problem) {
      // Gone already.
      if (!(problem instanceof TypeError)) throw problem;
    }
    await this.exit();
    while (await this.event() !== undefined);
    try {
      await this.#stdin.close();
    } catch {
      // The pipe broke with the process, or the test closed it.
    }
    await Deno.remove(this.folder, { recursive: true });
  }
}

const TOKEN = "0123456789abcdef";

async function* readEvents(
  stdout: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<SeenEvent, void, void> {
  let rest = "";
  for await (const text of stdout.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line);
  }
}

/** Arguments of a host that serves one of the tiny models on one thread. */
export async function tinyArguments(
  mode: "chat" | "embedding" | "rerank",
  options: { slots?: number; context?: number } = {},
): Promise<string[]> {
  const folder = `${Deno.env.get("TMPDIR") ?? "/tmp"}/covey-tiny-fixture`;
  const paths = await writeCoveyTiny(folder);
  return [
    "--model",
    {
      chat: paths.chatPath,
      embedding: paths.embeddingPath,
      rerank: await writeCoveyTinyRerank(folder),
    }[mode],
    "--mode",
    mode,
    "--context",
    String(options.context ?? 2048),
    "--slots",
    String(options.slots ?? 2),
    "--threads",
    "1",
    "--gpu",
    "off",
  ];
}

/** A host as tests ask it that do not end it. */
export type AskedHost = Pick<RunningHost, "ask" | "json">;

/**
 * Have a host run for all tests of a file: started before the first of them and
 * ended after the last.
 *
 * @param mode What the model is for.
 * @param options Slots and context, where they matter.
 */
export function hostOfFile(
  mode: Parameters<typeof tinyArguments>[0],
  options: Parameters<typeof tinyArguments>[1] = {},
): AskedHost {
  let running: RunningHost | undefined;
  Deno.test.beforeAll(async () => {
    running = await RunningHost.start(await tinyArguments(mode, options));
    await running.until("ready");
  });
  Deno.test.afterAll(async () => {
    await running?.[Symbol.asyncDispose]();
  });
  const host = () => {
    if (running === undefined) throw new Error("The host did not start");
    return running;
  };
  return {
    ask: (...args) => host().ask(...args),
    json: (...args) => host().json(...args),
  };
}

const MAX_ASKS = 20_000;

/** Ask a host for its slots until a condition holds; each ask is a round trip, so no sleep. */
export async function untilSlots(
  host: AskedHost,
  // deno-lint-ignore no-explicit-any
  holds: (slots: any[]) => boolean,
): Promise<void> {
  for (let asks = 0; asks < MAX_ASKS; asks++) {
    if (holds(await host.json("/slots"))) return;
  }
  throw new Error("The slots never came to what was waited for");
}

/** Data of a stream's events, parsed; the terminator as the text it is. */
// deno-lint-ignore no-explicit-any
export async function readStream(response: Response): Promise<any[]> {
  const text = await response.text();
  return text.split("\n\n").filter((event) => event !== "").map((event) => {
    const data = event.replace(/^data: /, "");
    return data === "[DONE]" ? data : JSON.parse(data);
  });
}
