import * as z from "zod";
import { boundFetch, createSystemClock } from "../../../platform/mod.ts";
import { drainLines } from "../../bounded_lines.ts";
import {
  EXIT_LOAD_FAILED,
  EXIT_USAGE,
  type HostEvent,
  LineWriter,
} from "../host/host_event.ts";
import type { HostIo } from "../host/main.ts";
import { type HostOptions, parseHostOptions } from "../host/options.ts";
import { watchParent } from "../host/parent.ts";
import { serverFlags } from "./server_flags.ts";

/** How often a server that loads is asked whether it is done. */
const LOOK_EVERY_MS = 50;
/** Longest wait for one answer of a server that loads. */
const LOOK_LIMIT_MS = 2_000;
const KEPT_LINES = 50;
const LONGEST_LINE = 4_096;

const props = z.looseObject({
  total_slots: z.int().positive().nullish(),
  default_generation_settings: z.looseObject({
    n_ctx: z.int().positive().nullish(),
  }).nullish(),
});

/**
 * Be an engine process whose work llama.cpp's own server does: start it on the
 * socket that was asked for, tell the parent how it gets on, and take it along
 * when the parent goes.
 *
 * @param args Arguments after the command's own name; the server's path, then those of an engine process.
 * @param io The process's streams.
 * @returns Exit code: 0 told to go, 2 wrong usage, 3 the model can not be loaded, else the server's own.
 */
export async function runServerChild(
  args: readonly string[],
  io: HostIo,
): Promise<number> {
  const log = new LineWriter(io.stderr);
  const [program = "", ...rest] = args;
  const options = parseHostOptions(rest);
  if (typeof options === "string") {
    log.write(options);
    await log.written();
    return EXIT_USAGE;
  }
  const { token, gone } = await watchParent(io.stdin);
  if (token === null) return 0;
  const events = new LineWriter(io.stdout);
  await using server = startServer(program, options, token, log);
  const ready = followLoad(options, token, server, events);
  return await Promise.race([
    gone.then(() => 0),
    server.exited.then(async (code) => {
      if (await ready) return code;
      const reason = server.lastLine();
      const event: HostEvent = { event: "failed", reason };
      events.write(JSON.stringify(event));
      await events.written();
      return EXIT_LOAD_FAILED;
    }),
  ]);
}

interface RunningServer extends AsyncDisposable {
  readonly exited: Promise<number>;
  /** What it said last that tells of a failure, or last of all. */
  lastLine(): string;
}

function startServer(
  program: string,
  options: HostOptions,
  token: string,
  log: LineWriter,
): RunningServer {
  const child = new Deno.Command(program, {
    args: [...serverFlags(options)],
    // Not among the arguments, which every user of the machine can read.
    env: { LLAMA_API_KEY: token },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const lines: string[] = [];
  const leaving = new AbortController();
  const reading = drainLines(child.stderr, LONGEST_LINE, (line) => {
    log.write(line);
    lines.push(line);
    if (lines.length > KEPT_LINES) lines.shift();
  }, leaving.signal).catch(() => {});
  const exited = child.status.then(async ({ code }) => {
    await reading;
    return code;
  });
  return {
    exited,
    lastLine: () =>
      lines.find((line) => /error|fail/i.test(line)) ?? lines.at(-1) ??
        `"${program}" ended without a word`,
    async [Symbol.asyncDispose]() {
      try {
        child.kill("SIGKILL");
      } catch (error) {
        // It may be gone already.
        if (!(error instanceof TypeError)) throw error;
      }
      leaving.abort();
      await child.status;
    },
  };
}

/** Tell the parent of the load; whether it came to its end. */
async function followLoad(
  { contextPerSlot, slots, socketPath }: HostOptions,
  token: string,
  server: RunningServer,
  events: LineWriter,
): Promise<boolean> {
  const clock = createSystemClock();
  const startedAt = clock.monotonic();
  const tell = (event: HostEvent) => events.write(JSON.stringify(event));
  using client = Deno.createHttpClient({
    proxy: { transport: "unix", path: socketPath },
  });
  const ask = async (path: string) => {
    using limit = clock.deadline(LOOK_LIMIT_MS);
    const response = await boundFetch(`http://localhost${path}`, {
      client,
      headers: { authorization: `Bearer ${token}` },
      signal: limit.signal,
    });
    return { ok: response.ok, text: await response.text() };
  };
  let isOver = false;
  server.exited.then(() => isOver = true);
  let listens = false;
  while (!isOver) {
    try {
      const health = await ask("/health");
      if (!listens) tell({ event: "listening" });
      listens = true;
      if (health.ok) {
        const { default_generation_settings: settings, total_slots: total } =
          props.parse(JSON.parse((await ask("/props")).text));
        tell({
          event: "ready",
          loadTimeMs: Math.round(clock.monotonic() - startedAt),
          contextLength: settings?.n_ctx ?? contextPerSlot,
          slots: total ?? slots,
        });
        return true;
      }
    } catch (error) {
      // Not there yet, or too busy with loading to answer.
      if (!(error instanceof TypeError || error instanceof DOMException)) {
        throw error;
      }
    }
    await clock.sleep(LOOK_EVERY_MS);
  }
  return false;
}
