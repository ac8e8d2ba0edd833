/**
 * The process edge: arguments, environment, signals and the exit code.
 *
 * @module
 */
import settings from "../deno.json" with { type: "json" };
import type { Command } from "./cli/command.ts";
import { ENGINE_HEAD } from "./cli/engine_head.ts";
import { createNodeApi } from "./cli/node_api.ts";
import { runCli } from "./cli/run_cli.ts";
import { serveCommand, type ServeEdge } from "./cli/serve.ts";
import {
  type ConfigResult,
  describeSettings,
  findApiAccess,
  findPlatformDataDir,
  locateConfig,
  parseNodeConfig,
} from "./config/mod.ts";
import type { ClusterCode } from "./cluster_slot.ts";
import type { LocalPacks } from "./cli/engine.ts";
import { packsFolder } from "./engines/packs/packs_folder.ts";
import { createNode } from "./node.ts";
import { API_CERTIFICATE_FILE } from "./domain/mod.ts";
import { createLog } from "./observe/log.ts";
import {
  boundFetch,
  createDenoFiles,
  createDenoProcesses,
  createSystemClock,
  createSystemEntropy,
  explainDenial,
  FileError,
  noProxyFor,
  type Platform,
} from "./platform/mod.ts";

/** What a composition root outside the core adds. */
export interface Extras {
  readonly clusterCode?: ClusterCode;
  /** Loads the commands that the cluster code brings, listed after the core's own. */
  readonly loadCommands?: () => Promise<readonly Command[]>;
}

/** Most characters that a command reads from standard input. */
const LONGEST_INPUT = 65_536;

/** Variables that reach engine processes; a secret is in none of them. */
const ENGINE_VARIABLES =
  /^(?:PATH|HOME|LANG|TMPDIR|DENO_DIR|XDG_CACHE_HOME|CUDA_.*|GGML_.*)$/;
/** Variables by which other programs are told where to keep models. */
const IMPORT_VARIABLES =
  /^(?:HOME|XDG_CACHE_HOME|OLLAMA_MODELS|HF_HOME|HF_HUB_CACHE|HUGGINGFACE_HUB_CACHE)$/;
/** Variables that ssh may see: its configuration and the user's agent hang on them. */
const TOOL_VARIABLES =
  /^(?:PATH|HOME|LANG|USER|LOGNAME|TMPDIR|XDG_RUNTIME_DIR|SSH_AUTH_SOCK)$/;

/**
 * Run the program to its end.
 *
 * @param mainModule Address of the module the process was started with, to start it again for engine processes.
 * @param extras What the full build adds to the core.
 */
export async function runCovey(
  mainModule: string,
  extras: Extras = {},
): Promise<void> {
  const noProxy = noProxyFor((name) => Deno.env.get(name));
  if (noProxy !== null) Deno.env.set("NO_PROXY", noProxy);
  const entropy = createSystemEntropy();
  const clock = createSystemClock();
  const platform: Platform = {
    clock,
    entropy,
    files: createDenoFiles(() => entropy.uuid().slice(0, 8)),
    processes: createDenoProcesses(selfCommand(mainModule)),
  };
  const own = [
    serveCommand(serveEdge(platform, extras)),
    engineCommand(platform),
  ];
  // A node that serves has no use for the other commands, nor memory for them.
  const commands = own.some(({ name }) => name === Deno.args[0])
    ? own
    : [...own, ...await loadOthers(platform, extras)];
  Deno.exitCode = await runCli(commands, Deno.args, {
    version: settings.version,
    entropy,
    stdout: (text) => writeLine(Deno.stdout, text),
    stderr: (text) => writeLine(Deno.stderr, text),
    ...(Deno.stderr.isTerminal() ? { status: showStatus } : {}),
    whenLeft,
    nowMs: () => clock.now(),
    sleep: (ms) => clock.sleep(ms),
    workingFolder: Deno.cwd(),
    readInput: readStandardInput,
    async nodeConfig() {
      const read = await readConfig(platform, []);
      return read.kind === "bad"
        ? { kind: "bad", line: read.line }
        : { kind: "config", config: read.config };
    },
    async dataFolder() {
      const read = await readConfig(platform, null);
      return read.kind === "bad" ? { kind: "bad", line: read.line } : {
        kind: "folder",
        path: read.config.dataDir,
        files: platform.files,
        licence: read.config.cluster.licence,
      };
    },
    ...createNodeApi({
      clock,
      fetch: (url, init) =>
        url.startsWith("https:")
          ? fetchOverTls(platform, url, init)
          : boundFetch(url, init),
      async address() {
        const read = await readConfig(platform, null);
        return read.kind === "bad"
          ? { kind: "bad", line: read.line }
          : { kind: "address", ...findApiAccess(read.config) };
      },
    }),
  });
}

/** Ask the own node where it speaks TLS alone: by the certificate that it was told to use. */
async function fetchOverTls(
  platform: Platform,
  url: string,
  init: RequestInit,
): Promise<Response> {
  const read = await readConfig(platform, null);
  if (read.kind === "bad" || read.config.tls === null) {
    throw new TypeError("The configuration changed meanwhile");
  }
  const { dataDir, tls } = read.config;
  const path = tls.kind === "self"
    ? `${dataDir}/${API_CERTIFICATE_FILE}`
    : tls.certificateFile;
  let certificate: string;
  try {
    certificate = await platform.files.readText(path);
  } catch (error) {
    // Nobody can be told from the node without it, as before the first start.
    if (!(error instanceof FileError)) throw error;
    throw new TypeError(error.message, { cause: error });
  }
  const { pinnedFetch } = await import("./cli/pinned_fetch.ts");
  return await pinnedFetch(url, init, certificate);
}

async function loadOthers(
  platform: Platform,
  { loadCommands }: Extras,
): Promise<Command[]> {
  const { COMMANDS, keyCommand } = await import("./cli/mod.ts");
  const keys = keyCommand(async (files, dataDir) => {
    const { loadClientKeys } = await import("./store/client_keys.ts");
    const { clock, entropy } = platform;
    return await loadClientKeys({
      files,
      entropy,
      nowMs: () => clock.now(),
      dataDir,
    });
  });
  return [...COMMANDS, keys, ...await loadCommands?.() ?? []];
}

function serveEdge(platform: Platform, extras: Extras): ServeEdge {
  return {
    help: describeSettings,
    readConfig: (flags) => readConfig(platform, flags),
    start(config, notices) {
      const log = createLog({
        level: config.logLevel,
        format: Deno.stderr.isTerminal() ? "text" : "json",
        now: () => platform.clock.now(),
        write: writeLog,
      });
      for (const notice of notices) log.warn(notice);
      return createNode({
        config,
        platform,
        log,
        version: settings.version,
        engineEnv: environmentOf(ENGINE_VARIABLES),
        importEnv: environmentOf(IMPORT_VARIABLES),
        toolEnv: environmentOf(TOOL_VARIABLES),
        temporaryDir: Deno.env.get("TMPDIR") ?? "/tmp",
        freeMemoryBytes: () => Deno.systemMemoryInfo().available,
        residentBytes: () => Deno.memoryUsage().rss,
        operatingSystem: operatingSystem(),
        ...userId(),
        ...(extras.clusterCode === undefined
          ? {}
          : { clusterCode: extras.clusterCode }),
      });
    },
    asked,
  };
}

/** The command of GPU libraries, under whose name the program is also the child that computes. */
function engineCommand(platform: Platform): Command {
  return {
    ...ENGINE_HEAD,
    async run(args, context) {
      const { engineCommand } = await import("./cli/engine.ts");
      return await engineCommand(
        (dataDir) => openPacks(platform, dataDir),
        runEngine,
      ).run(args, context);
    },
  };
}

async function runEngine(args: readonly string[]): Promise<number> {
  const io = {
    stdin: Deno.stdin.readable,
    stdout: Deno.stdout.writable,
    stderr: Deno.stderr.writable,
  };
  // Its parent is gone or wants it gone: work under way ends with the process.
  if (args[0] === "--server") {
    const { runServerChild } = await import(
      "./engines/embedded/server/server_child.ts"
    );
    Deno.exit(await runServerChild(args.slice(1), io));
  }
  const { runEngineHost } = await import("./engines/embedded/host/main.ts");
  Deno.exit(await runEngineHost(args, io));
}

async function openPacks(
  { clock, files }: Platform,
  dataDir: string,
): Promise<LocalPacks> {
  const [{ EnginePacks }, { NpmSource }] = await Promise.all([
    import("./engines/packs/engine_packs.ts"),
    import("./engines/packs/npm_source.ts"),
  ]);
  const packs = new EnginePacks({
    clock,
    files,
    folder: packsFolder(dataDir),
    os: Deno.build.os,
    arch: Deno.build.arch,
  });
  const registry = new NpmSource({
    registry: findRegistry,
    fetch: (url, signal) => boundFetch(url, { signal }),
  });
  return {
    list: () => packs.list(),
    add: (name, onBytes, signal) => packs.add(name, registry, onBytes, signal),
    remove: (name) => packs.remove(name),
  };
}

/** The npm registry that the operator named, or that npm uses where it is installed; null for none. */
async function findRegistry(signal: AbortSignal): Promise<string | null> {
  const { parseRegistry } = await import("./engines/packs/npm_registry.ts");
  const named = Deno.env.get("NPM_CONFIG_REGISTRY");
  if (named !== undefined) return parseRegistry(named);
  try {
    const { stdout } = await new Deno.Command("npm", {
      args: ["config", "get", "registry"],
      stdin: "null",
      stderr: "null",
      signal,
    }).output();
    return parseRegistry(new TextDecoder().decode(stdout));
  } catch (error) {
    // A machine without npm has to be told where to ask.
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

/** Read what the operator said; without flags, for a command that serves nothing itself. */
async function readConfig(
  { files }: Platform,
  said: readonly string[] | null,
): Promise<ConfigResult> {
  const flags = said ?? [];
  const env = Deno.env.toObject();
  const facts = {
    hostname: Deno.hostname(),
    platformDataDir: findPlatformDataDir(Deno.build.os, env),
    cwd: Deno.cwd(),
  };
  const place = locateConfig({ env, flags, facts });
  if (place.kind === "bad") return place;
  let file: string | null = null;
  try {
    file = await files.readText(place.filePath);
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    // No file is the usual case; one that is there and unreadable is not.
    if (error.problem !== "missing") {
      const said = await explainDenial(files, error, Deno.uid());
      const remedy = error.problem === "no_folder"
        ? "set COVEY_DATA_DIR to a folder"
        : error.problem === "folder"
        ? "put a file there, or set COVEY_DATA_DIR to another folder"
        : "let this user read it, or set COVEY_DATA_DIR";
      return {
        kind: "bad",
        variable: "covey.jsonc",
        line: `${said}; ${remedy}`,
        denied: error.problem === "denied",
      };
    }
  }
  return await parseNodeConfig({
    env,
    flags,
    file,
    readFile: (path) => files.readText(path),
    facts,
    servesNothing: said === null,
  });
}

/** Command line that starts this program again. */
function selfCommand(mainModule: string): string[] {
  if (Deno.build.standalone) return [Deno.execPath()];
  return [
    Deno.execPath(),
    "run",
    "--no-prompt",
    "--cached-only",
    "--allow-env",
    "--allow-ffi",
    "--allow-net",
    "--allow-read",
    "--allow-run",
    "--allow-sys",
    "--allow-write",
    mainModule,
  ];
}

function userId(): { readonly userId?: number } {
  const userId = Deno.uid();
  return userId === null ? {} : { userId };
}

function operatingSystem(): "linux" | "darwin" | "other" {
  const { os } = Deno.build;
  return os === "linux" || os === "darwin" ? os : "other";
}

function environmentOf(allowed: RegExp): Record<string, string> {
  return Object.fromEntries(
    Object.entries(Deno.env.toObject()).filter(([name]) => allowed.test(name)),
  );
}

/** How a shell tells the signals that ended a process. */
const SIGNAL_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

/** Resolves at the first SIGINT or SIGTERM; from then on, another one ends the process at once. */
async function asked(): Promise<Disposable> {
  const came = Promise.withResolvers<void>();
  let isStopping = false;
  const listening = (["SIGINT", "SIGTERM"] as const).map((signal) => {
    const come = () => {
      if (isStopping) Deno.exit(SIGNAL_CODES[signal]);
      isStopping = true;
      came.resolve();
    };
    Deno.addSignalListener(signal, come);
    return { signal, come };
  });
  await came.promise;
  return {
    [Symbol.dispose]() {
      for (const { signal, come } of listening) {
        Deno.removeSignalListener(signal, come);
      }
    },
  };
}

/** Have Ctrl-C end a command tidily, see `CliContext.whenLeft`. */
function whenLeft(words: string | null): Disposable {
  const leave = () => {
    if (Deno.stderr.isTerminal()) showStatus("");
    if (words !== null) writeLine(Deno.stderr, words);
    Deno.exit(SIGNAL_CODES.SIGINT);
  };
  Deno.addSignalListener("SIGINT", leave);
  return {
    [Symbol.dispose]: () => Deno.removeSignalListener("SIGINT", leave),
  };
}

/** The first line of standard input, without its end. */
async function readStandardInput(): Promise<string> {
  const decoder = new TextDecoder();
  const reader = Deno.stdin.readable.getReader();
  let text = "";
  try {
    while (!text.includes("\n") && text.length <= LONGEST_INPUT) {
      const { done, value } = await reader.read();
      if (done) break;
      text += decoder.decode(value, { stream: true });
    }
  } finally {
    reader.releaseLock();
  }
  return text.slice(0, LONGEST_INPUT).split("\n", 1)[0]?.trim() ?? "";
}

/** Draw a line over the one before, cut to the terminal's width. */
function showStatus(text: string): void {
  const { columns } = Deno.consoleSize();
  const line = `\r\x1b[2K${text.slice(0, Math.max(0, columns - 1))}`;
  const bytes = new TextEncoder().encode(line);
  for (let at = 0; at < bytes.length;) {
    at += Deno.stderr.writeSync(bytes.subarray(at));
  }
}

/**
 * Write a line of the log, unless nobody can read it any more, as when a pipe's
 * reader, a terminal or the room on a disk is gone: the node serves all the same.
 */
function writeLog(line: string): void {
  try {
    writeLine(Deno.stderr, line);
  } catch (error) {
    // The runtime has no one kind for what a descriptor may answer.
    if (!(error instanceof Error)) throw error;
  }
}

function writeLine(
  stream: { writeSync(bytes: Uint8Array): number },
  text: string,
): void {
  const bytes = new TextEncoder().encode(`${text}\n`);
  for (let at = 0; at < bytes.length;) {
    at += stream.writeSync(bytes.subarray(at));
  }
}

if (import.meta.main) await runCovey(import.meta.url);
