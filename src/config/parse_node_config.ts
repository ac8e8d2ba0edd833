import type { ClusterConfig } from "../domain/mod.ts";
import { FileError } from "../platform/mod.ts";
import { isLoopback } from "./address.ts";
import { readConfigFile } from "./config_file.ts";
import { readEnvironment } from "./environment.ts";
import { checkExposure } from "./exposure.ts";
import { readFlags } from "./flags.ts";
import { resolvePath } from "./folder_path.ts";
import { bad, type BadConfig, type Given } from "./given.ts";
import { locateConfig, type MachineFacts } from "./locate_config.ts";
import type { EngineConfig, ListenAddress, NodeConfig } from "./node_config.ts";
import {
  choose,
  type Chosen,
  readSecretFiles,
  readSetting,
} from "./precedence.ts";
import { providerAccounts } from "./provider_accounts.ts";
import type { Setting } from "./setting.ts";
import { SETTING_LIST } from "./setting_names.ts";
import { certificatePath, tlsConfig } from "./tls.ts";
import type { SettingValues } from "./setting_values.ts";
import { NODE_NAME, SETTINGS } from "./settings.ts";
import { plaintextNotices } from "./upstream_setting.ts";

const TIERS = [1, 2, 3] as const;

/** Everything an operator may have said, and what is needed to read it. */
export interface ConfigSources {
  readonly env: Readonly<Record<string, string>>;
  /** Arguments of `serve`. */
  readonly flags: readonly string[];
  /** Text of covey.jsonc (see `locateConfig`), or null where there is none. */
  readonly file: string | null;
  /** Reads the files that `…_FILE` settings name; may throw `FileError`. */
  readFile(path: string): Promise<string>;
  readonly facts: MachineFacts;
  /** Whether nothing is served by it, so that what it would open to whom is not judged; absent for no. */
  readonly servesNothing?: boolean;
}

/** A configuration, or the one line that says why there is none. */
export type ConfigResult =
  | {
    readonly kind: "ok";
    /** Frozen through and through. */
    readonly config: NodeConfig;
    /** Lines the operator should see although nothing is wrong enough to stop. */
    readonly notices: readonly string[];
  }
  | BadConfig;

/** Settings that mean nothing to a node without a cluster. */
const HUB = "https://huggingface.co";
const CLUSTER_SETTINGS = [
  SETTINGS.clusterSecretPrevious,
  SETTINGS.linkHost,
  SETTINGS.linkPort,
  SETTINGS.advertise,
  SETTINGS.peers,
  SETTINGS.mdnsInterfaces,
  SETTINGS.placeModels,
];

const SLOTS_BY_DEFAULT = 2;
const NO_FILE = {
  kind: "read",
  given: [],
  notices: [],
  engines: [],
  modelSets: [],
  modelCapabilities: [],
  rateLimit: null,
} as const;

/**
 * Read flags, environment and covey.jsonc, in that order of precedence, into
 * one frozen configuration.
 *
 * @param sources What was said.
 * @returns The configuration, or the first fault found. Neither a fault nor a
 * notice ever holds a secret.
 */
export async function parseNodeConfig(
  sources: ConfigSources,
): Promise<ConfigResult> {
  const { env, facts } = sources;
  const location = locateConfig(sources);
  if (location.kind === "bad") return location;
  const flags = readFlags(sources.flags);
  if (flags.kind === "bad") return flags;
  const environment = readEnvironment(env);
  const file = sources.file === null
    ? NO_FILE
    : await readConfigFile(sources.file);
  if (file.kind === "bad") return file;
  const fromFile = file.given.map((given) =>
    absolute(given, location.dataDir, env["HOME"])
  );
  const choice = choose([flags.given, environment.given, fromFile]);
  if (choice.kind === "bad") return choice;
  const withSecrets = await readSecretFiles(choice.chosen, {
    cwd: facts.cwd,
    home: env["HOME"],
    readFile: sources.readFile,
  });
  if (withSecrets.kind === "bad") return withSecrets;
  const { chosen } = withSecrets;
  const values = readAll(chosen);
  if ("kind" in values) return values;

  const listen = listenAddresses(values);
  const tls = tlsConfig(values, facts.cwd, env["HOME"]);
  if (tls.kind === "bad") return tls;
  const exposure = sources.servesNothing ? null : checkExposure(
    {
      listen,
      hasApiKeys: values.apiKeys.length > 0 ||
        (listen.some(({ host }) => !isLoopback(host)) &&
          await hasNamedKeys(sources, location.dataDir)),
      allowAnonymous: values.allowAnonymous.length > 0,
      hasTls: tls.tls !== null,
      allowPlaintext: values.allowPlaintext,
    },
    chosen.get(SETTINGS.host.variable)?.place ?? SETTINGS.host.variable,
  );
  if (exposure !== null && typeof exposure !== "string") return exposure;
  const accounts = providerAccounts(values);
  const doubled = doubledEngine(values, file.engines);
  if (doubled !== null) return doubled;
  const cluster = clusterConfig(values);
  const config: NodeConfig = {
    name: values.name ?? nameFrom(facts.hostname),
    dataDir: location.dataDir,
    modelsDir: resolvePath(
      values.modelsDir ?? `${location.dataDir}/models`,
      facts.cwd,
      env["HOME"],
    ),
    listen,
    apiKeys: values.apiKeys,
    allowAnonymous: values.allowAnonymous,
    rateLimit: file.rateLimit,
    tls: tls.tls,
    allowedHosts: values.allowedHosts,
    allowedOrigins: values.allowedOrigins,
    trustLoopback: values.trustLoopback,
    routing: values.routing,
    role: values.role,
    tier: TIERS.find((tier) => tier === values.tier) ?? null,
    engine: values.engine,
    engineThreads: values.engineThreads,
    slots: values.slots ?? SLOTS_BY_DEFAULT,
    contextLength: values.context,
    keepAliveMs: values.keepAlive,
    pinned: values.pinned,
    drainMs: values.drain,
    maxQueue: values.maxQueue,
    onBattery: values.onBattery,
    logLevel: values.logLevel,
    engines: file.engines,
    upstreams: values.upstreams,
    providers: accounts.providers,
    lendProviders: values.lendProviders,
    modelSets: file.modelSets,
    modelCapabilities: file.modelCapabilities,
    continueStreams: values.continue,
    hub: {
      endpoint: (values.hfEndpoint ?? HUB).replace(/\/+$/, ""),
      token: values.hfToken,
    },
    cluster,
  };
  const notices = [
    ...environment.notices,
    ...file.notices,
    ...laterNotices(chosen),
    ...(exposure === null ? [] : [exposure]),
    ...(tls.tls !== null && listen.every(({ host }) => isLoopback(host))
      ? [
        "COVEY_TLS_CERT is without effect: COVEY_HOST names loopback alone, where the API needs no TLS",
      ]
      : []),
    ...plaintextNotices(values.upstreams),
    ...accounts.notices,
    ...(cluster.secret === null ? clusterNotices(chosen) : []),
    ...(isSameSecret(values)
      ? [
        "COVEY_CLUSTER_SECRET_PREVIOUS is the same as COVEY_CLUSTER_SECRET and has no effect",
      ]
      : []),
  ];
  return { kind: "ok", config: deepFreeze(config), notices };
}

function readAll(chosen: Chosen): SettingValues | BadConfig {
  let first: BadConfig | undefined;
  function take<Value>(setting: Setting<Value>): Value {
    const reading = readSetting(chosen, setting);
    if (reading.kind === "value") return reading.value;
    first ??= reading;
    return setting.fallback;
  }
  const values: { -readonly [Key in keyof SettingValues]?: unknown } = {};
  for (const key of Object.keys(SETTINGS) as (keyof SettingValues)[]) {
    values[key] = take<unknown>(SETTINGS[key]);
  }
  // The table's type ties each key to its value; the loop can not say so.
  return first ?? values as SettingValues;
}

/** Whether `covey key add` made any: with them the API is no more open than with COVEY_API_KEYS. */
async function hasNamedKeys(
  { readFile }: ConfigSources,
  dataDir: string,
): Promise<boolean> {
  try {
    return (await readFile(`${dataDir}/client_keys.json`)).includes("sha256");
  } catch (error) {
    // Whatever keeps the file from being read now stops the start later, by name.
    if (error instanceof FileError) return false;
    throw error;
  }
}

function listenAddresses(values: SettingValues): readonly ListenAddress[] {
  const seen = new Map<string, ListenAddress>();
  for (const { host, port } of values.host) {
    const address = { host, port: port ?? values.port };
    seen.set(`${host} ${address.port}`, address);
  }
  return [...seen.values()];
}

function clusterConfig(values: SettingValues): ClusterConfig {
  return {
    secret: values.clusterSecret,
    previousSecret: values.clusterSecret === null || isSameSecret(values)
      ? null
      : values.clusterSecretPrevious,
    linkHost: values.linkHost,
    linkPort: values.linkPort,
    advertise: values.advertise,
    peers: values.peers,
    mdnsInterfaces: values.mdnsInterfaces,
    licence: values.licence?.reveal() ?? null,
    ...values.placeModels ? { placeModels: true } : {},
  };
}

/** Whether an engine of covey.jsonc has the name of another kind of engine. */
function doubledEngine(
  { providers, upstreams }: SettingValues,
  engines: readonly EngineConfig[],
): BadConfig | null {
  const named = upstreams.kind === "named" ? upstreams.upstreams : [];
  const ids = new Set(engines.map(({ id }) => id));
  for (
    const [{ variable }, names] of [
      [SETTINGS.upstreams, named.map(({ name }) => name)],
      [SETTINGS.providers, providers],
    ] as const
  ) {
    const name = names.find((name) => ids.has(name));
    if (name === undefined) continue;
    return bad(
      variable,
      `${variable}: "${name}" is the name of an engine in covey.jsonc too, rename that`,
    );
  }
  return null;
}

function isSameSecret(values: SettingValues): boolean {
  return values.clusterSecret !== null &&
    values.clusterSecret.reveal() === values.clusterSecretPrevious?.reveal();
}

function laterNotices(chosen: Chosen): string[] {
  return SETTING_LIST.flatMap(({ variable, later }) => {
    const given = chosen.get(variable);
    if (given === undefined || later === undefined) return [];
    if (later.quietFor?.includes(given.text.toLowerCase())) return [];
    return [
      `${given.place} is read but ${later.feature} not part of this build yet`,
    ];
  });
}

function clusterNotices(chosen: Chosen): string[] {
  const places = CLUSTER_SETTINGS.flatMap(({ variable }) =>
    chosen.get(variable)?.place ?? []
  );
  return places.length === 0 ? [] : [
    `${
      places.join(", ")
    }: without effect before \`covey invite\` or \`covey join\`, since COVEY_CLUSTER_SECRET is not set`,
  ];
}

/** The host's name without its domain, with whatever no node name may hold replaced. */
function nameFrom(hostname: string): string {
  const label = hostname.split(".", 1)[0] ?? "";
  const name = label.replace(/[^\p{L}\p{N}_-]/gu, "-")
    .replace(/^[^\p{L}\p{N}]+/u, "").slice(0, 63);
  return NODE_NAME.test(name) ? name : "node";
}

/** Paths in covey.jsonc count from the folder it lies in. */
function absolute(
  given: Given,
  dataDir: string,
  home: string | undefined,
): Given {
  const resolve = (path: string) => resolvePath(path, dataDir, home);
  if (given.meaning.setting === SETTINGS.tlsCert) {
    return { ...given, text: certificatePath(given.text, resolve) };
  }
  const isPath = given.meaning.form === "path" ||
    given.meaning.setting === SETTINGS.modelsDir ||
    given.meaning.setting === SETTINGS.tlsKey;
  return isPath ? { ...given, text: resolve(given.text) } : given;
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}
