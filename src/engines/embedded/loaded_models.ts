import {
  type CardRoom,
  type Eviction,
  Fault,
  type LocalModel,
  type MemoryNeed,
  type Misfit,
  type Upkeep,
} from "../../domain/mod.ts";
import type { HttpClient } from "../http_client.ts";
import { createUnixHttpClient } from "../plain_http/plain_client.ts";
import type { Launch, Lease, SupervisorStatus } from "../supervision.ts";
import { Supervisor } from "../supervisor.ts";
import type { EmbeddedEngineOptions } from "./embedded_options.ts";
import type { HostOptions } from "./host/options.ts";
import { LoadSpeed } from "./load_speed.ts";
import { countPhysicalCores } from "./physical_cores.ts";
import { cardBytesOf, type HeldModel } from "./held_memory.ts";
import { RoomMaker } from "./room_maker.ts";
import { makeSocketFolder, type SocketFolder } from "./socket_folder.ts";
import { checkForStall } from "./stall_check.ts";

const TOKEN_BYTES = 32;
const NAME_BYTES = 8;

/** The way to one engine process. */
export interface EngineChannel extends AsyncDisposable {
  readonly client: HttpClient;
  /** What it wants to be shown with every call. */
  readonly token: string;
}

interface Loaded extends HeldModel {
  /** Tells its processes from those of all other supervisors. */
  readonly name: string;
  readonly supervisor: Supervisor<EngineChannel>;
}

/** What came of a wish to have a model out of memory. */
export type Unloading =
  | { readonly kind: "gone" }
  | { readonly kind: "kept"; readonly reason: string };

/** One process per model that was asked for; sees to it that they fit into memory. */
export class LoadedModels implements AsyncDisposable {
  readonly #options: EmbeddedEngineOptions;
  readonly #loaded = new Map<string, Loaded>();
  /** Processes of models that changed or went, until they are gone. */
  readonly #retiring = new Set<Promise<void>>();
  /** Looks under way whether processes live. */
  readonly #checks = new Set<Promise<void>>();
  #threads: Promise<number> | null = null;
  #folder: Promise<SocketFolder> | null = null;
  readonly #room: RoomMaker;
  readonly #speed = new LoadSpeed();

  constructor(options: EmbeddedEngineOptions) {
    this.#options = options;
    this.#room = new RoomMaker(options, () => [...this.#loaded.values()]);
  }

  /** Where a model's process stands. */
  status(model: LocalModel): SupervisorStatus {
    const loaded = this.#loaded.get(model.name);
    return loaded !== undefined && isSame(loaded.model, model)
      ? loaded.supervisor.status()
      : { state: "stopped" };
  }

  /** Name of the process that computes a model, another one for each start, or null. */
  process(model: LocalModel): string | null {
    const status = this.status(model);
    const name = this.#loaded.get(model.name)?.name;
    return status.state === "ready" && name !== undefined
      ? `${name}.${status.start}`
      : null;
  }

  /** Whether the operator wants a model to stay in memory once it is there. */
  isPinned(model: LocalModel): boolean {
    return this.#options.pinned?.includes(model.name) ?? false;
  }

  /** Tokens of context a slot of a model has, or gets where nobody asks for more. */
  contextLength(model: LocalModel): number {
    const status = this.status(model);
    return status.state === "ready"
      ? status.contextLength
      : this.#room.usual(model);
  }

  /** Tokens of context that a request may ask for. */
  contextLimit(model: LocalModel): number {
    return this.#room.largest(model);
  }

  /** What a model takes of memory, or would take. */
  need(model: LocalModel): MemoryNeed {
    return this.#room.need(model, this.contextLength(model));
  }

  /** What of it lies on cards with memory of their own; null for one that is not loaded, and where nobody knows. */
  cardBytes(model: LocalModel): number | null {
    const status = this.status(model);
    return status.state === "ready" ? cardBytesOf(status) : null;
  }

  /** What is left of what a process said of its cards; null for nothing said. */
  saidCards(): CardRoom | null {
    return this.#room.saidCards();
  }

  /** Cards that models compute on, or would. */
  get cards(): RoomMaker["cards"] {
    return this.#room.cards;
  }

  /** Why a model that is not in memory can not be loaded now, or null. */
  misfit(model: LocalModel): Misfit | null {
    return this.#room.misfit(model);
  }

  /** What a load of a model would push out of memory. */
  evictions(model: LocalModel): readonly Eviction[] {
    return this.#loaded.size === 0 ? [] : this.#room.evictions(model);
  }

  /**
   * Have a model in memory and keep it there until the lease is disposed of.
   *
   * @param model The model.
   * @param upkeep What the caller wants beyond that.
   * @param signal Aborting it ends this caller's wait, never the load.
   * @throws {Fault} When it can not be had.
   */
  async acquire(
    model: LocalModel,
    { contextLength = 0, keepAliveMs }: Upkeep,
    signal: AbortSignal,
  ): Promise<Lease<EngineChannel>> {
    const limit = this.contextLimit(model);
    if (contextLength > limit) {
      throw new Fault(
        "context_length_exceeded",
        `The model "${model.name}" can have ${limit} tokens of context on this node, ${contextLength} were asked for`,
        { param: "num_ctx" },
      );
    }
    await this.#room.yieldTo(model, signal);
    return await this.supervisorOf(model).ensureReady(signal, {
      contextLength,
      ...(keepAliveMs === undefined
        ? {}
        : { keepAliveMs: keepAliveMs ?? Infinity }),
    });
  }

  /**
   * Take a model out of memory, unless it computes or is pinned, and forget
   * that it failed.
   *
   * @param model The model.
   * @param upkeep Says whether a pin counts.
   */
  async unload(
    model: LocalModel,
    { evenPinned = false }: Upkeep,
  ): Promise<Unloading> {
    const loaded = this.#loaded.get(model.name);
    if (loaded === undefined) return { kind: "gone" };
    if (loaded.isPinned && !evenPinned) {
      return { kind: "kept", reason: "it is pinned" };
    }
    if (await loaded.stopIfIdle()) return { kind: "gone" };
    loaded.supervisor.expire();
    return {
      kind: "kept",
      reason: "somebody uses it or waits for it; it leaves after that",
    };
  }

  /** Find out whether a model's process lives that callers gave up, once nobody else uses it. */
  suspect(model: LocalModel): void {
    const lease = this.#loaded.get(model.name)?.supervisor.borrowIdle() ?? null;
    if (lease === null) return;
    const { clock, log } = this.#options;
    const check = checkForStall({
      model,
      mode: modeOf(model),
      lease,
      clock,
      log,
    }).finally(() => this.#checks.delete(check));
    this.#checks.add(check);
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
    this.#loaded.set(model.name, {
      name: this.#options.entropy.bytes(NAME_BYTES).toHex(),
      model,
      supervisor,
      isPinned: this.isPinned(model),
      status: () => supervisor.status(),
      stopIfIdle: () => supervisor.stopIfIdle(),
    });
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
    await Promise.all(this.#checks);
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
      isPinned: this.isPinned(model),
      loadDeadlineMs: () => this.#speed.deadlineMs(model.sizeBytes),
      onLoaded: (loadTimeMs, card) => {
        this.#speed.observe(model.sizeBytes, loadTimeMs);
        this.#room.heard(card);
      },
      prepare: (signal, contextLength) =>
        this.#prepare(model, contextLength, signal),
    });
  }

  async #prepare(
    model: LocalModel,
    wished: number,
    signal: AbortSignal,
  ): Promise<Launch<EngineChannel>> {
    const { entropy, env, files, gpu, packsDir, processes, serverProgram } =
      this.#options;
    const { slots } = this.#options;
    const { clock, createClient = createUnixHttpClient } = this.#options;
    const threads = await this.#countThreads();
    const folder = await this.#socketFolder();
    const context = await this.#room.make(model, wished, signal);
    const socket = folder.newSocket();
    const token = entropy.bytes(TOKEN_BYTES).toHex();
    const client = createClient(socket, clock);
    const flags: Record<string, string | number> = {
      model: model.path,
      socket,
      mode: modeOf(model),
      context,
      slots,
      threads,
      gpu,
      ...packsDir === undefined || serverProgram !== undefined
        ? {}
        : { packs: packsDir },
    };
    return {
      token,
      spawn: {
        command: [
          ...processes.self,
          "engine",
          ...serverProgram === undefined ? [] : ["--server", serverProgram],
          ...Object.entries(flags).flatMap(([name, value]) => [
            `--${name}`,
            `${value}`,
          ]),
        ],
        env,
        ownGroup: true,
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
