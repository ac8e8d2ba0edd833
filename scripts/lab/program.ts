/** A program that a bench or a test started. Disposing of it ends it. */
export interface Program extends AsyncDisposable {
  readonly pid: number;
  /** What it wrote on its output until it was found ready. */
  readonly said: string;
}

const READY_MS = 60_000;

/**
 * Start a program and wait until it says something.
 *
 * @param command The program and its arguments.
 * @param ready What its output must hold; its first line unless said.
 * @param cwd Where it runs; this process's folder unless said.
 * @throws {Error} When it ends first, or takes too long.
 */
export async function startProgram(
  command: readonly string[],
  ready: RegExp = /\n/,
  cwd?: string,
): Promise<Program> {
  const [program = "", ...args] = command;
  const child = new Deno.Command(program, {
    args,
    stdin: "null",
    stdout: "piped",
    stderr: "null",
    ...(cwd === undefined ? {} : { cwd }),
  }).spawn();
  const timer = setTimeout(() => child.kill("SIGKILL"), READY_MS);
  const output = child.stdout.pipeThrough(new TextDecoderStream());
  const reader = output.getReader();
  let said = "";
  while (!ready.test(said)) {
    const { value, done } = await reader.read();
    if (done) {
      clearTimeout(timer);
      throw new Error(`${program} ended before it was ready: ${said}`);
    }
    said += value;
  }
  clearTimeout(timer);
  reader.releaseLock();
  // Nobody reads on, and a full pipe would stop the program.
  const drained = output.pipeTo(new WritableStream()).catch(() => {});
  return {
    pid: child.pid,
    said: said.trim(),
    async [Symbol.asyncDispose]() {
      try {
        child.kill("SIGTERM");
      } catch (error) {
        // It may have ended by itself.
        if (!(error instanceof TypeError)) throw error;
      }
      await child.status;
      await drained;
    },
  };
}

/** Below what kernels give by themselves, or a connection of anybody's might take it meanwhile. */
const PORTS = { first: 20_000, count: 12_000 };

/** A port of the loopback interface that was free a moment ago, for programs that take no 0. */
export function freePort(): number {
  for (;;) {
    const port = PORTS.first + Math.floor(Math.random() * PORTS.count);
    try {
      Deno.listen({ hostname: "127.0.0.1", port }).close();
      return port;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
}

/**
 * Wait until something listens.
 *
 * @param port Port of the loopback interface.
 * @throws {Error} When nothing does within a minute.
 */
export async function untilListening(port: number): Promise<void> {
  const untilMs = performance.now() + READY_MS;
  for (;;) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return;
    } catch (error) {
      if (performance.now() > untilMs) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
