import {
  type Api,
  createApi,
  isLoopback,
  openListeners,
  type Readiness,
  StartError,
  type TlsIdentity,
} from "./api/mod.ts";
import type { NodeConfig } from "./config/mod.ts";
import {
  type Engine,
  LOCK_FILE,
  type Log,
  type MemberView,
  type NodeId,
  withConditions,
} from "./domain/mod.ts";
import { type ClusterCode, ClusterSlot } from "./cluster_slot.ts";
import { createCommandEngines } from "./engines/command/command_engines.ts";
import {
  createEmbeddedEngine,
  type EmbeddedEngine,
} from "./engines/embedded/embedded_engine.ts";
import { createOwnFetch } from "./engines/http_client.ts";
import { createProviderEngine } from "./engines/provider/providers.ts";
import { createSimulatedEngine } from "./engines/simulated/simulated_engine.ts";
import {
  createUpstreams,
  type Upstreams,
} from "./engines/upstream/upstreams.ts";
import { createModelStore } from "./models/model_store.ts";
import { createImports } from "./models/import/imports.ts";
import { PIECE_BYTES } from "./models/pull/file_download.ts";
import { HubHttp } from "./models/pull/hub_http.ts";
import { createPulls } from "./models/pull/pulls.ts";
import { createMetrics } from "./observe/metrics.ts";
import {
  explainDenial,
  FEWEST_DESCRIPTORS,
  FileError,
  type Platform,
  readDescriptorLimit,
  trackProcesses,
} from "./platform/mod.ts";
import { createRouter, type OwnedRouter } from "./router/mod.ts";
import { createSensors, registerMachineMetrics } from "./sensors/mod.ts";
import {
  type ClientKeys,
  ClientKeysError,
  loadClientKeys,
} from "./store/client_keys.ts";
import {
  CertificateError,
  namesOf,
  readCertificate,
} from "./store/api_certificate.ts";
import { loadNodeId, NodeIdError } from "./store/node_id.ts";

/** What a node is made of besides its configuration. */
export interface NodeOptions {
  /** What the operator said. */
  readonly config: NodeConfig;
  /** The outside world. */
  readonly platform: Platform;
  /** Where it logs. */
  readonly log: Log;
  /** Version of the program. */
  readonly version: string;
  /** Variables that engine processes may see; nothing else reaches them. */
  readonly engineEnv: Readonly<Record<string, string>>;
  /** Variables that programs of the system may see which the cluster starts, as ssh. */
  readonly toolEnv?: Readonly<Record<string, string>>;
  /** Folder for temporary files of this machine. */
  readonly temporaryDir: string;
  /** Memory that a new model could use, in bytes. */
  freeMemoryBytes(): number;
  /** The operating system, for the sensors. */
  readonly operatingSystem: "linux" | "darwin" | "other";
  /** Number of the user that this process runs as, for messages of what is denied to it. */
  readonly userId?: number;
  /** Resident memory of this process, in bytes, for the metrics. */
  residentBytes(): number;
  /** Adds the cluster; without it a configured secret stops the start. */
  readonly clusterCode?: ClusterCode;
}

/** A running node. Disposing it lets running answers end, then closes everything. */
export interface Node extends AsyncDisposable {
  /** The node's id. */
  readonly id: NodeId;
  /** Base addresses of the API, with the real ports. */
  readonly urls: readonly string[];
  /** The API without its sockets. */
  readonly api: Api;
}

/**
 * Build a node and start it: every room is made here, once, and handed what it
 * may use. Whatever was started is stopped again when a later step fails.
 *
 * @param options What to build it from.
 * @returns The node, serving.
 * @throws {StartError} With one line for the terminal when it cannot start.
 */
export async function createNode(options: NodeOptions): Promise<Node> {
  const { config, platform, log, version } = options;
  const { clock, entropy, files } = platform;
  await checkDescriptors(platform);
  await using stack = new AsyncDisposableStack();

  const { id, lock, clientKeys } = await openDataFolder(options);
  stack.use(lock);
  const self = { id, name: config.name };
  const metrics = createMetrics({
    log: log.child("metrics"),
    version,
    startedAtSeconds: clock.now() / 1000,
    residentBytes: options.residentBytes,
  });

  const dispatcher: { router: OwnedRouter | null } = { router: null };
  const computing: { engine: EmbeddedEngine | null } = { engine: null };
  const isBusy = () => (dispatcher.router?.inFlight() ?? 0) > 0;
  const store = stack.use(
    createModelStore({
      files,
      clock,
      log: log.child("models"),
      modelsDir: config.modelsDir,
      manifestsDir: `${config.dataDir}/manifests`,
      isBusy,
      isUsed: (model) => computing.engine?.isUsing(model) ?? false,
    }),
  );
  await store.refresh();

  const processes = trackProcesses(platform.processes);
  const hasEmbedded = config.role === "node" && config.engine !== "off";
  const sensors = stack.use(
    createSensors({
      ...platform,
      log: log.child("sensors"),
      platform: options.operatingSystem,
      path: options.engineEnv["PATH"] ?? "",
      modelsDir: config.modelsDir,
      onBattery: config.onBattery,
      computesHere: () => hasEmbedded && store.list().length > 0,
      ownPids: () => processes.pids(),
      isBusy,
    }),
  );
  registerMachineMetrics(metrics, sensors);

  const pulls = stack.use(
    createPulls({
      ...platform,
      log: log.child("pull"),
      http: new HubHttp({
        clock,
        ...config.hub,
        fetch: (url, init) => fetch(url, init),
      }),
      store,
      modelsDir: config.modelsDir,
      listPath: `${config.dataDir}/pulls.json`,
      pieceBytes: PIECE_BYTES,
      freeDiskBytes: () => sensors.reading().diskFreeBytes,
    }),
  );
  await pulls.resume();

  const localEngines: Engine[] = [];
  /** Those that compute on this machine, and feel what it feels. */
  const onMachine = new Set<Engine>();
  if (config.role === "node") {
    for (const engine of config.engines) {
      if (engine.kind !== "simulated") continue;
      localEngines.push(stack.use(
        createSimulatedEngine({
          config: engine,
          clock,
          entropy,
          node: id,
          nodeName: config.name,
        }),
      ));
    }
    if (hasEmbedded) {
      const embedded = stack.use(
        createEmbeddedEngine({
          ...platform,
          processes,
          log: log.child("engine"),
          models: store,
          node: id,
          nodeName: config.name,
          slots: config.slots,
          contextLength: config.contextLength,
          threads: config.engineThreads,
          keepAliveMs: config.keepAliveMs,
          gpu: "auto",
          env: options.engineEnv,
          runtimeDir: `${config.dataDir}/run`,
          temporaryDir: options.temporaryDir,
          freeMemoryBytes: async () =>
            Math.min(
              options.freeMemoryBytes(),
              await sensors.containerFreeBytes(),
            ),
          totalMemoryBytes: () => sensors.reading().memoryTotalBytes,
        }),
      );
      computing.engine = embedded;
      localEngines.push(embedded);
      onMachine.add(embedded);
    }
  }

  localEngines.push(...openProviders(stack, options, self));
  if (config.role === "node") {
    const commands = await createCommandEngines({
      ...platform,
      processes,
      log: log.child("engine"),
      given: config.engines.filter((engine) => engine.kind === "command"),
      findsPrograms: config.engine === "auto",
      takenIds: localEngines.map((engine) => engine.id),
      node: id,
      nodeName: config.name,
      env: options.engineEnv,
      temporaryDir: options.temporaryDir,
    });
    localEngines.push(...commands.map((engine) => stack.use(engine)));
  }
  const upstreams = openUpstreams(
    stack,
    options,
    self,
    localEngines.map((engine) => engine.id),
  );

  // The router asks for peers at every placement; there are none until the
  // cluster, which needs the router for its peers' work, is made below.
  const joined: { slot: ClusterSlot | null } = { slot: null };
  const router = stack.use(
    createRouter({
      self,
      localEngines,
      ...(upstreams === null
        ? {}
        : { foundEngines: () => upstreams.engines() }),
      peers: () => joined.slot?.cluster?.engines() ?? [],
      policy: config.routing,
      maxQueue: config.maxQueue,
      keepAliveMs: config.keepAliveMs,
      modelSets: config.modelSets,
      machine: sensors,
      speedOf: (engine) => onMachine.has(engine) ? sensors : null,
      clock,
      entropy,
      log: log.child("router"),
      metrics,
    }),
  );

  dispatcher.router = router;
  const slot = stack.use(
    new ClusterSlot({
      code: clusterCodeFor(options),
      host: {
        log: log.child("cluster"),
        metrics,
        node: { ...self, version, role: config.role },
        config: config.cluster,
        stateDir: `${config.dataDir}/cluster`,
        router,
        machine: sensors,
        models: {
          folder: config.modelsDir,
          list: () => store.list(),
          refresh: () => store.refresh(),
          manifest: (model) => store.manifest(model),
          readChunk: (...place) => store.readChunk(...place),
        },
        toolEnv: options.toolEnv ?? {},
      },
      platform,
    }),
  );
  joined.slot = slot;
  await slot.start();

  const alone = (): MemberView => ({
    ...self,
    self: true,
    health: withConditions("healthy", sensors.conditions()),
    draining: router.isDraining(),
    addresses: [],
    version,
    machine: sensors.reading(),
    conditions: sensors.conditions(),
  });
  const ready = (): Readiness => ({ kind: "ready" });
  const api = createApi({
    router,
    clock,
    entropy,
    log: log.child("api"),
    metrics,
    renderMetrics: () => metrics.render(),
    members: () => slot.cluster?.members() ?? [alone()],
    clusterId: () => slot.cluster?.id() ?? null,
    hasCluster: () => slot.cluster !== null,
    act: (action, body, signal) => slot.act(action, body, signal),
    ready,
    problemWith: (model) =>
      store.invalid().find(({ name }) => name === model)?.reason ?? null,
    access: config,
    models: store,
    pulls,
    imports: createImports({
      files,
      log: log.child("import"),
      store,
      modelsDir: config.modelsDir,
    }),
    clientKeys,
    rateLimit: config.rateLimit,
    continueStreams: config.continueStreams,
    self,
  });
  const tls = await tlsIdentity(options, id);
  const listeners = stack.use(
    await openListeners({
      addresses: config.listen,
      tls,
      handle: (request, info) => api.handle(request, info),
      log: log.child("api"),
      clock,
    }),
  );

  const running = stack.move();
  return {
    id,
    api,
    urls: listeners.addresses.map(({ host, port }) =>
      `${tls === null || isLoopback(host) ? "http" : "https"}://${
        host.includes(":") ? `[${host}]` : host
      }:${port}`
    ),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Engines of providers; the start does not wait for them either. */
function openProviders(
  stack: AsyncDisposableStack,
  { config, log, platform: { clock } }: NodeOptions,
  self: { readonly id: NodeId; readonly name: string },
): readonly Engine[] {
  if (config.role !== "node" || config.providers.length === 0) return [];
  const { fetch } = stack.use(createOwnFetch());
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

/** Engines of servers that run already; the start does not wait for them. */
function openUpstreams(
  stack: AsyncDisposableStack,
  { config, log, platform: { clock } }: NodeOptions,
  self: { readonly id: NodeId; readonly name: string },
  takenIds: readonly string[],
): Upstreams | null {
  const { upstreams } = config;
  if (config.role !== "node" || upstreams.kind === "off") return null;
  const { fetch } = stack.use(createOwnFetch());
  return stack.use(
    createUpstreams({
      named: upstreams.kind === "named" ? upstreams.upstreams : null,
      ownPorts: config.listen.map(({ port }) => port),
      takenIds,
      node: self.id,
      nodeName: self.name,
      clock,
      log: log.child("engine"),
      fetch,
    }),
  );
}

/** A node that runs out of descriptors fails in the middle of its work, so it does not begin. */
async function checkDescriptors({ files }: Platform): Promise<void> {
  const limit = await readDescriptorLimit(files);
  if (limit === null || limit >= FEWEST_DESCRIPTORS) return;
  throw new StartError(
    `Cannot start with ${limit} file descriptors: ${FEWEST_DESCRIPTORS} are needed; run \`ulimit -n ${FEWEST_DESCRIPTORS}\` first, or set LimitNOFILE=${FEWEST_DESCRIPTORS} in its service`,
  );
}

/** Make the data folder and read the node's id and its clients' keys in it. */
async function openDataFolder(
  { clusterCode, config, log, platform, userId }: NodeOptions,
): Promise<
  {
    readonly id: NodeId;
    readonly lock: Disposable;
    readonly clientKeys: ClientKeys;
  }
> {
  const { dataDir } = config;
  const { clock, entropy, files } = platform;
  try {
    await files.makeFolder(dataDir, 0o700);
    await using stack = new AsyncDisposableStack();
    const lock = stack.use(await files.lock(`${dataDir}/${LOCK_FILE}`));
    if (lock === null) {
      throw new StartError(
        `Another node runs on the data folder "${dataDir}"; stop it, or set COVEY_DATA_DIR to another folder`,
      );
    }
    const inCluster = config.cluster.secret !== null ||
      await clusterCode?.resumesCluster(files, `${dataDir}/cluster`);
    if (inCluster) await clusterCode?.settleIdentity?.(files, dataDir, log);
    const id = await loadNodeId(files, entropy, dataDir);
    const clientKeys = await loadClientKeys({
      files,
      entropy,
      nowMs: () => clock.now(),
      dataDir,
    });
    stack.move();
    return { id, lock, clientKeys };
  } catch (error) {
    if (error instanceof FileError) {
      const said = await explainDenial(files, error, userId ?? null);
      throw new StartError(
        `${said}; set COVEY_DATA_DIR to a folder that this user can write`,
        { cause: error, denied: error.problem === "denied" },
      );
    }
    if (error instanceof NodeIdError || error instanceof ClientKeysError) {
      throw new StartError(error.message);
    }
    throw error;
  }
}

/** What the API proves itself by beyond loopback. */
async function tlsIdentity(
  { clusterCode, config, platform }: NodeOptions,
  nodeId: NodeId,
): Promise<TlsIdentity | null> {
  const { tls, dataDir } = config;
  const hosts = config.listen.map(({ host }) => host);
  if (tls === null || hosts.every(isLoopback)) return null;
  const { entropy, files } = platform;
  const own = { files, entropy, dataDir, nodeId };
  try {
    if (tls.kind === "self") {
      const names = namesOf({ ...config, hosts });
      const made = await clusterCode?.ensureApiCertificate?.({ ...own, names });
      if (made !== undefined) return await readCertificate(files, made);
      throw new StartError(
        "COVEY_TLS_CERT=self needs the full build, which can make a certificate; give COVEY_TLS_CERT and COVEY_TLS_KEY the paths of your own",
      );
    }
    return await readCertificate(files, tls);
  } catch (error) {
    if (error instanceof CertificateError || error instanceof FileError) {
      throw new StartError(error.message, { cause: error });
    }
    throw error;
  }
}

function clusterCodeFor(
  { clusterCode, config }: NodeOptions,
): ClusterCode | null {
  if (clusterCode !== undefined) return clusterCode;
  if (config.cluster.secret === null) return null;
  throw new StartError(
    "COVEY_CLUSTER_SECRET is set, but this build has no cluster code; use the full build, or unset it",
  );
}
