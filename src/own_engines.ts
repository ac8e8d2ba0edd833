import { StartError } from "./api/mod.ts";
import type { NodeConfig } from "./config/mod.ts";
import type { Engine, NodeId } from "./domain/mod.ts";
import { createCommandEngines } from "./engines/command/command_engines.ts";
import { isOnPath } from "./engines/command/known_programs.ts";
import {
  createEmbeddedEngine,
  type EmbeddedEngine,
} from "./engines/embedded/embedded_engine.ts";
import { createOwnFetch } from "./engines/own_fetch.ts";
import { packsFolder } from "./engines/packs/packs_folder.ts";
import { createProviderEngine } from "./engines/provider/providers.ts";
import { createSimulatedEngine } from "./engines/simulated/simulated_engine.ts";
import {
  createUpstreams,
  type Upstreams,
} from "./engines/upstream/upstreams.ts";
import type { ModelStore } from "./models/model_store.ts";
import type { NodeOptions } from "./node_options.ts";
import { mappedFileBytes, type TrackedProcesses } from "./platform/mod.ts";
import type { Sensors } from "./sensors/mod.ts";

/** What a node's own engines are made with. */
export interface OwnEngineOptions extends NodeOptions {
  readonly self: { readonly id: NodeId; readonly name: string };
  readonly store: ModelStore;
  readonly sensors: Sensors;
  /** Starts programs, and knows which of them run. */
  readonly processes: TrackedProcesses;
}

/** The engines that this node has besides its peers'. */
export interface OwnEngines {
  /** Those that are there from the start on. */
  readonly fixed: readonly Engine[];
  /** Runs the models of the node's own folder; null where it may not. */
  readonly embedded: EmbeddedEngine | null;
  /** Servers that run already, as found now. */
  found(): readonly Engine[];
  /** Whether an engine computes on this machine, and feels what it feels. */
  feelsMachine(engine: Engine): boolean;
}

const SERVER = "llama-server";
/** One list, so that who compares lists sees no change where nothing is found. */
const NONE: readonly Engine[] = [];

/** Whether a node runs models of its own folder. */
export function runsEmbedded(config: NodeConfig): boolean {
  return config.role === "node" && config.engine !== "off";
}

/**
 * Make every engine that the configuration speaks of. A controller has none.
 *
 * @param stack Takes them over, to be disposed with the node.
 */
export async function openOwnEngines(
  stack: AsyncDisposableStack,
  options: OwnEngineOptions,
): Promise<OwnEngines> {
  const { config } = options;
  const server = await findServer(options);
  const embedded = runsEmbedded(config)
    ? stack.use(openEmbedded(options, server))
    : null;
  const fixed: Engine[] = [
    ...openSimulated(stack, options),
    ...embedded === null ? [] : [embedded],
    ...openProviders(stack, options),
  ];
  fixed.push(...await openCommands(stack, options, fixed));
  const upstreams = openUpstreams(stack, options, fixed);
  return {
    fixed,
    embedded,
    found: () => upstreams?.engines() ?? NONE,
    feelsMachine: (engine) => engine === embedded,
  };
}

/**
 * Find llama.cpp's own server, where it is to compute.
 *
 * @throws {StartError} When it is to and is not there.
 */
async function findServer(
  { config, engineEnv, platform: { files } }: OwnEngineOptions,
): Promise<string | null> {
  if (config.role !== "node" || config.engine !== SERVER) return null;
  if (await isOnPath(files, engineEnv["PATH"] ?? "", SERVER)) return SERVER;
  throw new StartError(
    `COVEY_ENGINE is "${SERVER}", and no program of that name is on the PATH; install llama.cpp, or give auto`,
  );
}

function openEmbedded(
  options: OwnEngineOptions,
  server: string | null,
): EmbeddedEngine {
  const { config, log, platform, processes, self, sensors, store } = options;
  return createEmbeddedEngine({
    ...platform,
    processes,
    log: log.child("engine"),
    models: store,
    node: self.id,
    nodeName: self.name,
    slots: config.slots,
    contextLength: config.contextLength,
    threads: config.engineThreads,
    keepAliveMs: config.keepAliveMs,
    pinned: config.pinned,
    gpu: "auto",
    packsDir: packsFolder(config.dataDir),
    ...server === null ? {} : { serverProgram: server },
    env: options.engineEnv,
    runtimeDir: `${config.dataDir}/run`,
    temporaryDir: options.temporaryDir,
    freeMemoryBytes: async () =>
      Math.min(
        options.freeMemoryBytes(),
        await sensors.containerFreeBytes(),
      ),
    // Apple's chips have one memory for all.
    sharesMemoryWithCard: options.operatingSystem === "darwin",
    cardMemory: () => sensors.seenCards(),
    lookAtCards: () => sensors.lookAtCards(),
    totalMemoryBytes: () => sensors.reading().memoryTotalBytes,
    availableMemoryBytes: () => sensors.reading().memoryAvailableBytes,
    mappedFileBytes: (pid) => mappedFileBytes(platform.files, pid),
  });
}

function openSimulated(
  stack: AsyncDisposableStack,
  { config, platform, self }: OwnEngineOptions,
): readonly Engine[] {
  if (config.role !== "node") return [];
  return config.engines
    .filter((engine) => engine.kind === "simulated")
    .map((engine) =>
      stack.use(
        createSimulatedEngine({
          config: engine,
          clock: platform.clock,
          entropy: platform.entropy,
          node: self.id,
          nodeName: self.name,
        }),
      )
    );
}

/** Programs that speak and hear, found on the PATH or given. */
async function openCommands(
  stack: AsyncDisposableStack,
  { config, engineEnv, log, platform, processes, self, temporaryDir }:
    OwnEngineOptions,
  others: readonly Engine[],
): Promise<readonly Engine[]> {
  if (config.role !== "node") return [];
  const commands = await createCommandEngines({
    ...platform,
    processes,
    log: log.child("engine"),
    given: config.engines.filter((engine) => engine.kind === "command"),
    findsPrograms: config.engine === "auto",
    takenIds: others.map((engine) => engine.id),
    node: self.id,
    nodeName: self.name,
    env: engineEnv,
    temporaryDir,
  });
  return commands.map((engine) => stack.use(engine));
}

/** Engines of providers; the start does not wait for them. */
function openProviders(
  stack: AsyncDisposableStack,
  { config, log, platform: { clock }, self }: OwnEngineOptions,
): readonly Engine[] {
  if (config.role !== "node" || config.providers.length === 0) return [];
  const { fetch } = stack.use(createOwnFetch(clock));
  return config.providers.map((account) =>
    stack.use(
      createProviderEngine({
        account,
        isLent: config.lendProviders,
        node: self.id,
        nodeName: self.name,
        clock,
        log: log.child("engine"),
        fetch,
      }),
    )
  );
}

/** Engines of servers that run already; the start does not wait for them either. */
function openUpstreams(
  stack: AsyncDisposableStack,
  { config, log, platform: { clock }, self }: OwnEngineOptions,
  others: readonly Engine[],
): Upstreams | null {
  const { upstreams } = config;
  if (config.role !== "node" || upstreams.kind === "off") return null;
  const { fetch, plain } = stack.use(createOwnFetch(clock));
  return stack.use(
    createUpstreams({
      named: upstreams.kind === "named" ? upstreams.upstreams : null,
      capabilities: config.modelCapabilities,
      ownPorts: config.listen.map(({ port }) => port),
      takenIds: others.map((engine) => engine.id),
      node: self.id,
      nodeName: self.name,
      clock,
      log: log.child("engine"),
      fetch,
      plain,
    }),
  );
}
