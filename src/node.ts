import {
  type Api,
  createApi,
  isLoopback,
  openListeners,
  type Readiness,
  StartError,
} from "./api/mod.ts";
import { openApiIdentity } from "./api_identity.ts";
import { type ClusterCode, ClusterSlot } from "./cluster_slot.ts";
import { checkDescriptors, openDataFolder } from "./data_folder.ts";
import {
  type MemberView,
  type NodeId,
  type Tier,
  withConditions,
} from "./domain/mod.ts";
import type { EmbeddedEngine } from "./engines/embedded/embedded_engine.ts";
import { findGpuAdvice } from "./gpu_advice.ts";
import { createConversions } from "./models/convert/conversions.ts";
import { createModelStore } from "./models/model_store.ts";
import { createImports } from "./models/import/imports.ts";
import { usualPlaces } from "./models/import/usual_places.ts";
import { PIECE_BYTES } from "./models/pull/file_download.ts";
import { HubHttp } from "./models/pull/hub_http.ts";
import { createPulls } from "./models/pull/pulls.ts";
import type { NodeOptions } from "./node_options.ts";
import { createMetrics } from "./observe/metrics.ts";
import { openDrain } from "./own_drain.ts";
import { openOwnEngines, runsEmbedded } from "./own_engines.ts";
import { openForecasts } from "./own_forecasts.ts";
import { openOwnPacks } from "./own_packs.ts";
import { boundFetch, explainDenial, trackProcesses } from "./platform/mod.ts";
import { Stopping } from "./stopping.ts";
import { createRouter, type OwnedRouter } from "./router/mod.ts";
import { createSensors, registerMachineMetrics } from "./sensors/mod.ts";

export type { NodeOptions } from "./node_options.ts";

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
      explain: (error) => explainDenial(files, error, options.userId ?? null),
    }),
  );
  await store.refresh();

  const processes = trackProcesses(platform.processes);
  const sensors = stack.use(
    createSensors({
      ...platform,
      log: log.child("sensors"),
      platform: options.operatingSystem,
      path: options.engineEnv["PATH"] ?? "",
      modelsDir: config.modelsDir,
      onBattery: config.onBattery,
      tier: config.tier,
      computesHere: () => runsEmbedded(config) && store.list().length > 0,
      ownPids: () => processes.pids(),
      computesOn: (maker) => computing.engine?.computesOn(maker) ?? false,
      saidCards: () => computing.engine?.saidCards() ?? null,
      isBusy,
    }),
  );
  registerMachineMetrics(metrics, sensors);

  const engines = await openOwnEngines(stack, {
    ...options,
    self,
    store,
    sensors,
    processes,
  });
  computing.engine = engines.embedded;

  const conversions = stack.use(
    createConversions({
      files,
      clock,
      entropy,
      log: log.child("convert"),
      store,
      modelsDir: config.modelsDir,
      isBusy,
      freeDiskBytes: () => sensors.reading().diskFreeBytes,
      totalDiskBytes: () => sensors.reading().diskTotalBytes,
    }),
  );

  // The router asks for peers at every placement; there are none until the
  // cluster, which needs the router for its peers' work, is made below.
  const joined: { slot: ClusterSlot | null } = { slot: null };
  const router = stack.use(
    createRouter({
      self,
      localEngines: engines.fixed,
      foundEngines: () => engines.found(),
      peers: () => joined.slot?.cluster?.engines() ?? [],
      policy: config.routing,
      maxQueue: config.maxQueue,
      keepAliveMs: config.keepAliveMs,
      modelSets: config.modelSets,
      machine: sensors,
      speedOf: (engine) => engines.feelsMachine(engine) ? sensors : null,
      clock,
      entropy,
      log: log.child("router"),
      metrics,
    }),
  );

  dispatcher.router = router;
  const drain = await openDrain({
    files,
    dataDir: config.dataDir,
    log,
    router,
    changed: () => joined.slot?.cluster?.announce?.(),
  });
  const advice = await findGpuAdvice(options);
  if (advice !== null) log.warn(advice);
  const packs = openOwnPacks(
    options,
    () => joined.slot?.cluster?.packAllies?.() ?? null,
  );
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
        drain,
        machine: sensors,
        models: {
          folder: config.modelsDir,
          list: () => store.list(),
          refresh: () => store.refresh(),
          manifest: (model) => store.manifest(model),
          readChunk: (...place) => store.readChunk(...place),
          companions: (model) => store.companions(model),
          readCompanion: (...place) => store.readCompanion(...place),
          noteOrigins: (...noted) => store.noteOrigins(...noted),
          remake: (derivation) => conversions.remake(derivation),
        },
        packs: packs.shelf,
        toolEnv: options.toolEnv ?? {},
        advice: advice === null ? [] : [advice],
        exposure: {
          hosts: config.listen.map(({ host }) => host),
          openTo: config.allowAnonymous.map(({ text }) => text),
          hasTls: config.tls !== null,
        },
      },
      platform,
    }),
  );
  joined.slot = slot;
  await slot.start();

  const http = new HubHttp({
    clock,
    ...config.hub,
    fetch: boundFetch,
  });
  // After the cluster, whose members they ask first.
  const pulls = stack.use(
    createPulls({
      ...platform,
      log: log.child("pull"),
      http,
      store,
      allies: () => slot.cluster?.pullAllies?.() ?? null,
      modelsDir: config.modelsDir,
      listPath: `${config.dataDir}/pulls.json`,
      pieceBytes: PIECE_BYTES,
      freeDiskBytes: () => sensors.reading().diskFreeBytes,
      totalDiskBytes: () => sensors.reading().diskTotalBytes,
      explain: (error) => explainDenial(files, error, options.userId ?? null),
    }),
  );
  await pulls.resume();

  const alone = (): MemberView => ({
    ...self,
    self: true,
    health: withConditions("healthy", sensors.conditions()),
    draining: router.isDraining(),
    addresses: [],
    version,
    machine: sensors.reading(),
    conditions: sensors.conditions(),
    ...advice === null ? {} : { note: advice },
    inFlight: router.inFlight(),
    ...tierNow(sensors.tier?.() ?? null),
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
    copyHelp: (model) => slot.cluster?.copyHelp?.(model) ?? null,
    hasCluster: () => slot.cluster !== null,
    act: (action, body, signal) => slot.act(action, body, signal),
    describeActions: () => slot.describeActions(),
    ready,
    problemWith: (model) =>
      store.invalid().find(({ name }) => name === model)?.reason ?? null,
    access: config,
    models: store,
    conversions,
    forecasts: openForecasts({ clock, entropy, http }, {
      configured: config.contextLength,
      slots: config.slots,
    }),
    packs: packs.care,
    pulls,
    imports: createImports({
      files,
      log: log.child("import"),
      store,
      modelsDir: config.modelsDir,
      places: usualPlaces(options.importEnv ?? options.engineEnv),
    }),
    clientKeys,
    rateLimit: config.rateLimit,
    continueStreams: config.continueStreams,
    drain,
    self,
  });
  const tls = await openApiIdentity(options, id);
  const stopping = new Stopping({
    clock,
    log,
    router,
    announce: () => slot.cluster?.announce?.(),
    limitMs: config.drainMs,
  });
  // Peers' answers, once the clients' are over; before the link goes.
  stack.defer(() => stopping.idle());
  const listeners = stack.use(
    await openListeners({
      addresses: config.listen,
      tls,
      handle: (request, info) => api.handle(request, info),
      log: log.child("api"),
      clock,
      grace: (signal) => stopping.grace(signal),
    }),
  );
  stack.defer(() => stopping.begin());

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

function clusterCodeFor(
  { clusterCode, config }: NodeOptions,
): ClusterCode | null {
  if (clusterCode !== undefined) return clusterCode;
  if (config.cluster.secret === null) return null;
  throw new StartError(
    "COVEY_CLUSTER_SECRET is set, but this build has no cluster code; use the full build, or unset it",
  );
}

function tierNow(tier: Tier | null): Pick<MemberView, "tier"> {
  return tier === null ? {} : { tier };
}
