import { join } from "node:path";

/** A `covey serve` running as a child process, as a user would start it. */
export interface NodeProcess extends AsyncDisposable {
  readonly name: string;
  readonly pid: number;
  /** Base address of its API, without a slash at the end. */
  readonly url: string;
  /** Milliseconds from its start until it said that it is ready. */
  readonly readyAfterMs: number;
  /** What it wrote on stderr so far, the last 200 lines. */
  log(): string;
  /** Send a signal and wait until the process is gone. */
  end(signal: "SIGTERM" | "SIGKILL"): Promise<Deno.CommandStatus>;
}

/** How to start one. */
export interface NodeProcessOptions {
  readonly name: string;
  readonly dataDir: string;
  /** COVEY_* and other variables; nothing of this process's own but PATH, HOME and the caches. */
  readonly env?: Readonly<Record<string, string>>;
  /** Written to covey.jsonc in the data folder. */
  readonly config?: unknown;
  /** Command line before `serve`; the checkout's own main module by default. */
  readonly command?: readonly string[];
  /** How long it may take until it is ready. */
  readonly timeoutMs?: number;
}

const INHERITED = ["PATH", "HOME", "DENO_DIR", "XDG_CACHE_HOME", "TMPDIR"];
const READY = /^Covey is ready at (http:\/\/\S+)$/m;
const KEPT_LINES = 200;

/** Command line that runs the checkout's program: the core's where ee/ is away. */
export const FROM_SOURCE: readonly string[] = [
  Deno.execPath(),
  "run",
  "--no-prompt",
  "--allow-all",
  await mainModule(),
];

async function mainModule(): Promise<string> {
  const root = join(import.meta.dirname ?? ".", "../..");
  const full = join(root, "ee/main.ts");
  const exists = await Deno.stat(full).then(() => true, () => false);
  return exists ? full : join(root, "src/main.ts");
}

/**
 * Start a node and wait until it is ready.
 *
 * @param options What to start.
 * @returns The running node. Disposing it ends the process.
 * @throws {Error} When it exits first or takes too long; its log is in the message.
 */
export async function startNode(
  options: NodeProcessOptions,
): Promise<NodeProcess> {
  await Deno.mkdir(options.dataDir, { recursive: true });
  if (options.config !== undefined) {
    await Deno.writeTextFile(
      join(options.dataDir, "covey.jsonc"),
      JSON.stringify(options.config),
    );
  }
  const startedMs = performance.now();
  const [program = "", ...args] = options.command ?? FROM_SOURCE;
  const child = new Deno.Command(program, {
    args: [...args, "serve"],
    clearEnv: true,
    env: {
      ...inheritedEnv(),
      COVEY_DATA_DIR: options.dataDir,
      COVEY_NAME: options.name,
      // Whatever else runs on this machine must not be taken for an engine.
      COVEY_UPSTREAMS: "off",
      // Tests leave streams open that nobody reads.
      COVEY_DRAIN: "5s",
      ...options.env,
    },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const lines: string[] = [];
  const ready = Promise.withResolvers<string>();
  // A process that ends before it was ready must not leave an unheard rejection.
  ready.promise.catch(() => {});
  const reading = Promise.all([
    readLines(child.stderr, (line) => {
      lines.push(line);
      if (lines.length > KEPT_LINES) lines.shift();
    }),
    readLines(child.stdout, (line) => {
      const url = READY.exec(line)?.[1];
      if (url !== undefined) ready.resolve(url);
    }),
  ]);
  const exited = child.status.then(async (status) => {
    await reading;
    ready.reject(
      new Error(
        `Node "${options.name}" exited with code ${status.code} before it was ready:\n${
          lines.join("\n")
        }`,
      ),
    );
    return status;
  });
  const timeoutMs = options.timeoutMs ?? 60_000;
  const timer = setTimeout(
    () =>
      ready.reject(
        new Error(
          `Node "${options.name}" was not ready within ${timeoutMs} ms:\n${
            lines.join("\n")
          }`,
        ),
      ),
    timeoutMs,
  );
  async function end(signal: "SIGTERM" | "SIGKILL") {
    try {
      child.kill(signal);
    } catch (error) {
      // It may be gone already, which is what was asked for.
      if (!(error instanceof TypeError)) throw error;
    }
    return await exited;
  }
  try {
    const url = (await ready.promise).replace(/\/$/, "");
    return {
      name: options.name,
      pid: child.pid,
      url,
      readyAfterMs: performance.now() - startedMs,
      log: () => lines.join("\n"),
      end,
      [Symbol.asyncDispose]: async () => {
        await end("SIGTERM");
      },
    };
  } catch (error) {
    await end("SIGKILL");
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** The variables that a child of a test or demo may see of this process's own. */
export function inheritedEnv(): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of INHERITED) {
    const value = Deno.env.get(name);
    if (value !== undefined) env[name] = value;
  }
  return env;
}

async function readLines(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  each: (line: string) => void,
): Promise<void> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) each(line);
  }
  if (rest !== "") each(rest);
}
