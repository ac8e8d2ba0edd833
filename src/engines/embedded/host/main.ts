import {
  createSystemClock,
  createSystemEntropy,
} from "../../../platform/mod.ts";
import {
  EXIT_LOAD_FAILED,
  EXIT_USAGE,
  type HostEvent,
  LineWriter,
} from "./host_event.ts";
import { type HostState, readyState } from "./host_state.ts";
import { createHandler } from "./http.ts";
import { type LoadedModel, LoadError, loadModel } from "./load_model.ts";
import { type HostOptions, parseHostOptions } from "./options.ts";
import { watchParent } from "./parent.ts";
import { serveSocket } from "./socket_server.ts";

/** The streams that tie an engine process to its parent. */
export interface HostIo {
  /** First line is the start's token; its end is the parent's. */
  readonly stdin: ReadableStream<Uint8Array>;
  /** One `HostEvent` a line. */
  readonly stdout: WritableStream<Uint8Array>;
  /** For people and logs. */
  readonly stderr: WritableStream<Uint8Array>;
}

/** Progress is told in steps of this size. */
const PROGRESS_STEP = 0.05;

/**
 * Be an engine process: serve one model on a Unix socket until the parent goes.
 *
 * Returns as soon as stdin ends or SIGTERM comes and finishes nothing: the
 * caller must exit with the code at once, which is what ends work under way.
 *
 * @param args Arguments after the command's own name; see `HOST_USAGE`.
 * @param io The process's streams.
 * @returns Exit code: 0 told to go, 2 wrong usage, 3 the model can not be loaded.
 */
export async function runEngineHost(
  args: readonly string[],
  io: HostIo,
): Promise<number> {
  const log = new LineWriter(io.stderr);
  const options = parseHostOptions(args);
  if (typeof options === "string") {
    log.write(options);
    await log.written();
    return EXIT_USAGE;
  }
  const { token, gone } = await watchParent(io.stdin);
  if (token === null) return 0;
  return await Promise.race([
    gone.then(() => 0),
    serve(options, token, new LineWriter(io.stdout), log),
  ]);
}

async function serve(
  options: HostOptions,
  token: string,
  events: LineWriter,
  log: LineWriter,
): Promise<number> {
  const tell = (event: HostEvent) => events.write(JSON.stringify(event));
  const clock = createSystemClock();
  let state: HostState = { state: "loading", progress: 0 };
  const server = await serveSocket(
    options.socketPath,
    createHandler({
      token,
      clock,
      state: () => state,
      onFailure: (problem) => log.write(`Request failed: ${describe(problem)}`),
    }),
  );
  tell({ event: "listening" });
  const startedAt = clock.monotonic();
  let told = 0;
  let model: LoadedModel;
  try {
    model = await loadModel(options, {
      progress(part) {
        state = { state: "loading", progress: part };
        if (part - told < PROGRESS_STEP) return;
        told = part;
        tell({ event: "loading", progress: part });
      },
      log: (line) => log.write(line),
    });
  } catch (problem) {
    if (!(problem instanceof LoadError)) log.write(describe(problem));
    const reason = problem instanceof LoadError
      ? problem.message
      : "Failed to load the model for an unforeseen reason; see the log";
    tell({ event: "failed", reason });
    await events.written();
    await log.written();
    return EXIT_LOAD_FAILED;
  }
  state = readyState(model, clock, createSystemEntropy());
  tell({
    event: "ready",
    loadTimeMs: Math.round(clock.monotonic() - startedAt),
    contextLength: model.contextLength,
    slots: state.state === "chat" ? state.host.pool.slots.length : 1,
    card: model.card,
  });
  const closed = Promise.withResolvers<never>();
  server.once("error", closed.reject);
  server.once(
    "close",
    () => closed.reject(new Error("The engine's socket was closed")),
  );
  return await closed.promise;
}

function describe(problem: unknown): string {
  return problem instanceof Error
    ? problem.stack ?? problem.message
    : String(problem);
}
