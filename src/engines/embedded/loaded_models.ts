import type { Eviction, LocalModel } from "../../domain/mod.ts";
import { createUnixHttpClient, type HttpClient } from "../http_client.ts";
import type { Launch, SupervisorStatus } from "../supervision.ts";
import { Supervisor } from "../supervisor.ts";
import type { EmbeddedEngineOptions } from "./embedded_options.ts";
import type { HostOptions } from "./host/options.ts";
import {
  chooseVictim,
  heldBytes,
  neededBytes,
  victimsFor,
} from "./memory_room.ts";
import { countPhysicalCores } from "./physical_cores.ts";
import { makeSocketFolder, type SocketFolder } from "./socket_folder.ts";

const LOAD_DEADLINE_MS = 5 * 60_000;
const LOAD_DEADLINE_MS_PER_GIB = 20_000;
const LARGEST_CONTEXT = 32_768;
const TOKEN_BYTES = 32;

/** The way to one engine process. */
export interface EngineChannel extends AsyncDisposable {
  readonly client: HttpClient;
  /** What it wants to be shown with every call. */
  readonly token: string;
}

interface Loaded {
  readonly model: LocalModel;
  readonly supervisor: Supervisor<EngineChannel>;
}

/** Tokens of context a slot gets. */
export function contextOf(
  model: LocalModel,
  configured: number | null,
): number {
  return Math.min(configured ?? LARGEST_CONTEXT, model.contextLength);
}

/** One process per model that was asked for; sees to it that they fit into memory. */
export class LoadedModels implements AsyncDisposable {
  readonly #options: EmbeddedEngineOptions;
  readonly #loaded = new Map<string, Loaded>();
  /** Processes of models that changed or went, until they are gone. */
  readonly #retiring = new Set<Promise<void>>();
  #threads: Promise<number> | null = null;
  #folder: Promise<SocketFolder> | null = null;
  /** Memory for models, free or held by them, as of the last load; null before. */
  #roomBytes: number | null = null;
  /** Room is made for one model at a time. */
  #makingRoom: Promise<void> = Promise.resolve();

  constructor(options: EmbeddedEngineOptions) {
    this.#options = options;
  }

  /** Where a model's process stands. */
  status(model: LocalModel): SupervisorStatus {
    const loaded = this.#loaded.get(model.name);
    return loaded !== undefined && isSame(loaded.model, model)
      ? loaded.supervisor.status()
      : { state: "stopped" };
  }

  /**
   * What a load of a model would push out of memory, foreseen from what was
   * free at the last load.
   */
  evictions(model: LocalModel): readonly Eviction[] {
    if (this.#roomBytes === null || this.#loaded.size === 0) return [];
    const { clock, keepAliveMs } = this.#options;
    const residents = this.#residents(model);
    const held = residents.reduce((sum, { bytes }) => sum + bytes, 0);
    const needed = neededBytes(model.sizeBytes) + this.#loadingBytes(model);
    return victimsFor(this.#roomBytes - held, needed, residents).map((one) => ({
      model: one.name,
      reloadMs: one.loadTimeMs,
      idleMs: Math.max(0, clock.monotonic() - one.lastUsedMs),
      ...(Number.isFinite(keepAliveMs) ? { keepMs: keepAliveMs } : {}),
    }));
  }

  /** The one supervisor of a model; those of vanished models end here. */
  supervisorOf(model: LocalModel): Supervisor<EngineChannel> {
    const offered = new Map(
      this.#options.models.list().map((one) => [one.name, one]),
    );
    for (const [name, loaded] of this.#loaded) {
      const current = name === model.name ? model : offered.get(name);
      if (current === undefined || !isSame(loaded.model, current)) {
        this.#retire(name, loaded);
      }
    }
    const known = this.#loaded.get(model.name);
    if (known !== undefined) return known.supervisor;
    const supervisor = this.#supervise(model);
    this.#loaded.set(model.name, { model, supervisor });
    return supervisor;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { files, log } = this.#options;
    await Promise.all([
      ...[...this.#loaded.values()].map(({ supervisor }) =>
        supervisor[Symbol.asyncDispose]()
      ),
      ...this.#retiring,
    ]);
    if (this.#folder === null) return;
    try {
      await files.remove((await this.#folder).path);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      log.warn("Failed to remove the sockets of engines", { reason });
    }
  }

  #retire(name: string, { supervisor }: Loaded): void {
    this.#loaded.delete(name);
    const gone = supervisor[Symbol.asyncDispose]().then(() => {
      this.#retiring.delete(gone);
    });
    this.#retiring.add(gone);
  }

  #supervise(model: LocalModel): Supervisor<EngineChannel> {
    const { clock, keepAliveMs, log, processes } = this.#options;
    return new Supervisor({
      name: model.name,
      clock,
      log,
      processes,
      keepAliveMs,
      loadDeadlineMs: LOAD_DEADLINE_MS +
        LOAD_DEADLINE_MS_PER_GIB * model.sizeBytes / 2 ** 30,
      prepare: (signal) => this.#prepare(model, signal),
    });
  }

  async #prepare(
    model: LocalModel,
    signal: AbortSignal,
  ): Promise<Launch<EngineChannel>> {
    const { contextLength, entropy, env, files, gpu, processes, slots } =
      this.#options;
    const { createClient = createUnixHttpClient } = this.#options;
    const threads = await this.#countThreads();
    const folder = await this.#socketFolder();
    await this.#makeRoom(model, signal);
    const socket = folder.newSocket();
    const token = entropy.bytes(TOKEN_BYTES).toHex();
    const client = createClient(socket);
    const flags: Record<string, string | number> = {
      model: model.path,
      socket,
      mode: modeOf(model),
      context: contextOf(model, contextLength),
      slots,
      threads,
      gpu,
    };
    return {
      token,
      spawn: {
        command: [
          ...processes.self,
          "engine",
          ...Object.entries(flags).flatMap(([name, value]) => [
            `--${name}`,
            `${value}`,
          ]),
        ],
        env,
      },
      channel: {
        client,
        token,
        [Symbol.asyncDispose]: async () => {
          client[Symbol.dispose]();
          await files.remove(socket);
        },
      },
    };
  }

  #countThreads(): Promise<number> {
    const { countCores = countPhysicalCores, log, threads } = this.#options;
    if (threads !== null) return Promise.resolve(threads);
    return this.#threads ??= countCores().catch((error) => {
      // One thread is slow on every machine, and wrong on none.
      const reason = error instanceof Error ? error.message : String(error);
      log.warn("Failed to count the processor's cores, one thread is used", {
        reason,
      });
      return 1;
    });
  }

  #socketFolder(): Promise<SocketFolder> {
    return this.#folder ??= makeSocketFolder(this.#options).catch((error) => {
      // The next start tries again: a full disk may be empty by then.
      this.#folder = null;
      throw error;
    });
  }

  #makeRoom(model: LocalModel, signal: AbortSignal): Promise<void> {
    const turn = this.#makingRoom.then(() => this.#unloadFor(model, signal));
    // A start that is called off must not end the turns of the others.
    this.#makingRoom = turn.catch(() => {});
    return turn;
  }

  async #unloadFor(model: LocalModel, signal: AbortSignal): Promise<void> {
    const { freeMemoryBytes, log } = this.#options;
    for (;;) {
      signal.throwIfAborted();
      const needed = neededBytes(model.sizeBytes) + this.#loadingBytes(model);
      const freeBytes = await freeMemoryBytes();
      const fields = { model: model.name, freeBytes, neededBytes: needed };
      const residents = this.#residents(model);
      this.#roomBytes = residents.reduce(
        (sum, { bytes }) => sum + bytes,
        freeBytes,
      );
      const victim = chooseVictim(freeBytes, needed, residents);
      if (victim === null) {
        if (freeBytes < needed) {
          log.warn("Memory is short for a model that is loaded now", fields);
        }
        return;
      }
      log.info("Unloading a model to make room", {
        ...fields,
        unloaded: victim.name,
      });
      // Somebody may have begun to use it: then it counts as in use next time round.
      await this.#loaded.get(victim.name)?.supervisor.stopIfIdle();
    }
  }

  /** What models that are being loaded have yet to take. */
  #loadingBytes(except: LocalModel): number {
    let bytes = 0;
    for (const { model, supervisor } of this.#loaded.values()) {
      const status = supervisor.status();
      if (model.name === except.name || status.state !== "starting") continue;
      bytes += model.sizeBytes * (1 - status.progress);
    }
    return bytes;
  }

  #residents(except: LocalModel) {
    return [...this.#loaded.values()].flatMap(({ model, supervisor }) => {
      const status = supervisor.status();
      if (model.name === except.name || status.state !== "ready") return [];
      const { inUse, lastUsedMs, loadTimeMs } = status;
      const bytes = heldBytes(model.sizeBytes);
      return [{ name: model.name, inUse, lastUsedMs, loadTimeMs, bytes }];
    });
  }
}

/** What a process is started to do with a model. */
function modeOf({ capabilities }: LocalModel): HostOptions["mode"] {
  if (capabilities.includes("rerank")) return "rerank";
  return capabilities.includes("embedding") ? "embedding" : "chat";
}

/** A root that is found only after the load is no other model. */
function isSame(loaded: LocalModel, offered: LocalModel): boolean {
  return loaded.path === offered.path &&
    loaded.sizeBytes === offered.sizeBytes &&
    (loaded.root === null || loaded.root === offered.root);
}
