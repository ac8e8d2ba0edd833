import type { Secret } from "../domain/mod.ts";
import { host, hostAndPort, ipAddress, port } from "./address.ts";
import { duration, DURATION_FORMS } from "./duration.ts";
import {
  matching,
  oneOf,
  orAuto,
  toggle,
  TOGGLE_FORMS,
  urlOf,
  wholeNumber,
} from "./plain_value.ts";
import {
  anySecret,
  API_KEY_FORMS,
  apiKeys,
  clusterSecret,
  SECRET_FORMS,
} from "./secret_strength.ts";
import { accept, listOf, refuse, type Setting } from "./setting.ts";
import type { SettingValues } from "./setting_values.ts";
import { anonymousNetworks } from "./anonymous_networks.ts";
import { staticPeer } from "./static_peer.ts";
import { UPSTREAM_FORMS, upstreams } from "./upstream_setting.ts";

const ROLES = ["node", "controller"] as const;
const ROUTINGS = ["local_first", "balanced"] as const;
const ENGINES = ["auto", "embedded", "llama-server", "off"] as const;
const LEVELS = ["debug", "info", "warn", "error"] as const;
const BATTERY = ["local", "serve", "off"] as const;
const PROVIDERS = [
  "openrouter",
  "anthropic",
  "gemini",
  "groq",
  "cerebras",
  "deepseek",
  "openai",
] as const;

/** Names of nodes: what people type after `node:`, so no slash and no colon. */
export const NODE_NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,62}$/u;
const MODEL_NAME = /^[^\p{Cc},]{1,256}$/u;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const PATH = /^\P{Cc}{1,1024}$/u;
const INTERFACE = /^[a-z0-9][a-z0-9_.:%@-]{0,63}$/i;
/** No pattern: a page is let in by its whole origin, which has a port in figures or none. */
const ORIGIN = /^[a-z][a-z0-9+.-]{0,31}:\/\/[^\s\/?#@,"*]{1,261}$/;

const PORT_FORMS = "a port from 0 to 65535";
const PATH_FORMS = "the path of a folder";

function pathOf(about: string, variable: string, fallbackText: string) {
  return {
    variable,
    about,
    accepts: PATH_FORMS,
    fallback: null,
    fallbackText,
    parse: matching(PATH),
  };
}

function providerKey(variable: string, provider: string) {
  return {
    variable,
    about: `Key of ${provider}, used only if COVEY_PROVIDERS names it`,
    accepts: "a key on one line",
    fallback: null,
    fallbackText: "unset",
    secret: true as const,
    parse: anySecret,
  };
}

/**
 * Everything an operator can say. Environment, covey.jsonc, flags, their help
 * and their errors are all driven by this one table.
 */
export const SETTINGS: {
  readonly [Key in keyof SettingValues]: Setting<SettingValues[Key]>;
} = {
  host: {
    variable: "COVEY_HOST",
    about: "Addresses the public API listens on",
    accepts: "addresses such as 127.0.0.1, [::1]:8080 or 0.0.0.0",
    fallback: [{ host: "127.0.0.1", port: null }],
    fallbackText: "127.0.0.1",
    parse: listOf(hostAndPort, 16),
  },
  port: {
    variable: "COVEY_PORT",
    about: "Port of the public API where COVEY_HOST names none",
    accepts: PORT_FORMS,
    fallback: 11411,
    fallbackText: "11411",
    parse: port,
  },
  dataDir: pathOf(
    "Folder of the node's state and of covey.jsonc",
    "COVEY_DATA_DIR",
    "the platform's data folder",
  ),
  modelsDir: pathOf(
    "Folder of the weights",
    "COVEY_MODELS_DIR",
    "models, in the data folder",
  ),
  clusterSecret: {
    variable: "COVEY_CLUSTER_SECRET",
    aliases: ["CSGHUB_LITE_CLUSTER_SECRET"],
    about: "Founds or joins the cluster of that secret",
    accepts: SECRET_FORMS,
    fallback: null,
    fallbackText: "unset: no cluster",
    secret: true,
    parse: clusterSecret,
  },
  clusterSecretPrevious: {
    variable: "COVEY_CLUSTER_SECRET_PREVIOUS",
    about: "The secret before a rotation: both admit",
    accepts: SECRET_FORMS,
    fallback: null,
    fallbackText: "unset",
    secret: true,
    parse: clusterSecret,
  },
  linkHost: {
    variable: "COVEY_LINK_HOST",
    about: "Address the link between members listens on",
    accepts: "an IP address, 0.0.0.0 for all",
    fallback: "0.0.0.0",
    fallbackText: "0.0.0.0",
    parse: ipAddress,
  },
  linkPort: {
    variable: "COVEY_LINK_PORT",
    about: "Port of the link between members, 0 for any free one",
    accepts: PORT_FORMS,
    fallback: 11412,
    fallbackText: "11412",
    parse: port,
  },
  advertise: {
    variable: "COVEY_ADVERTISE",
    about: "Addresses to announce where the host can not know them",
    accepts: "IP addresses, separated by commas",
    fallback: [],
    fallbackText: "those found",
    parse: listOf(ipAddress, 16),
  },
  peers: {
    variable: "COVEY_PEERS",
    about: "Peers to dial where multicast does not reach",
    accepts: "host:port or ssh://user@host, separated by commas",
    fallback: [],
    fallbackText: "unset",
    parse: listOf(staticPeer, 256),
  },
  mdnsInterfaces: {
    variable: "COVEY_MDNS_INTERFACES",
    about: "Interfaces that members are looked for on",
    accepts: "interface names or addresses, separated by commas",
    fallback: null,
    fallbackText: "all usable ones",
    parse: listOf(matching(INTERFACE), 64),
  },
  routing: {
    variable: "COVEY_ROUTING",
    about: "Whether work stays here unless another member is clearly sooner",
    accepts: "local_first or balanced",
    fallback: "local_first",
    fallbackText: "local_first",
    parse: oneOf(ROUTINGS),
  },
  apiKeys: {
    variable: "COVEY_API_KEYS",
    about: "Keys of clients",
    accepts: API_KEY_FORMS,
    fallback: [],
    fallbackText: "unset",
    secret: true,
    parse: apiKeys,
  },
  allowAnonymous: {
    variable: "COVEY_ALLOW_ANONYMOUS",
    about:
      "Serve callers without a key: all of them, or those of some networks",
    accepts:
      "0, 1, true, false, or networks such as 172.16.0.0/12, separated by commas",
    fallback: [],
    fallbackText: "0",
    toggle: true,
    parse: anonymousNetworks,
  },
  allowPlaintext: {
    variable: "COVEY_ALLOW_PLAINTEXT",
    about: "Listen beyond loopback without TLS",
    accepts: TOGGLE_FORMS,
    fallback: false,
    fallbackText: "0",
    toggle: true,
    parse: toggle,
  },
  tlsCert: {
    variable: "COVEY_TLS_CERT",
    about: "Certificate of the public API beyond loopback",
    accepts: "self, for the node's own, or the path of a PEM file",
    fallback: null,
    fallbackText: "unset",
    parse: matching(PATH),
  },
  tlsKey: {
    variable: "COVEY_TLS_KEY",
    about: "File of the key that belongs to COVEY_TLS_CERT",
    accepts: "the path of a PEM file",
    fallback: null,
    fallbackText: "unset",
    parse: matching(PATH),
  },
  allowedHosts: {
    variable: "COVEY_ALLOWED_HOSTS",
    about: "Further names that clients may call this node by",
    accepts: "host names, separated by commas",
    fallback: [],
    fallbackText: "unset",
    parse: listOf(host, 256),
  },
  allowedOrigins: {
    variable: "COVEY_ALLOWED_ORIGINS",
    about: "Web pages that may call this node",
    accepts: "origins such as https://chat.example, separated by commas",
    fallback: [],
    fallbackText: "unset",
    parse: listOf((text) => matching(ORIGIN)(text.toLowerCase()), 256),
  },
  trustLoopback: {
    variable: "COVEY_TRUST_LOOPBACK",
    about: "Give programs on this machine every right without a key",
    accepts: TOGGLE_FORMS,
    fallback: true,
    fallbackText: "1",
    toggle: true,
    parse: toggle,
  },
  lendProviders: {
    variable: "COVEY_LEND_PROVIDERS",
    about: "Let peers spend this node's provider keys",
    accepts: TOGGLE_FORMS,
    fallback: false,
    fallbackText: "0",
    toggle: true,
    parse: toggle,
  },
  placeModels: {
    variable: "COVEY_PLACE_MODELS",
    about: "Copy a model to an idle member once a minute's callers wait 10 s",
    accepts: TOGGLE_FORMS,
    fallback: false,
    fallbackText: "0",
    toggle: true,
    parse: toggle,
  },
  continue: {
    variable: "COVEY_CONTINUE",
    about: "Go on with a broken answer on another member",
    accepts: TOGGLE_FORMS,
    fallback: false,
    fallbackText: "0",
    toggle: true,
    parse: toggle,
  },
  upstreams: {
    variable: "COVEY_UPSTREAMS",
    about: "Engines that run already",
    accepts: UPSTREAM_FORMS,
    fallback: { kind: "auto" },
    fallbackText: "auto",
    parse: upstreams,
  },
  providers: {
    variable: "COVEY_PROVIDERS",
    about: "Providers that may be used, in order",
    accepts: `none, or ${PROVIDERS.join(", ")}`,
    fallback: [],
    fallbackText: "none",
    parse: (text) =>
      /^none$/i.test(text)
        ? accept([])
        : listOf(oneOf(PROVIDERS), PROVIDERS.length)(text),
  },
  openrouterApiKey: providerKey("OPENROUTER_API_KEY", "OpenRouter"),
  anthropicApiKey: providerKey("ANTHROPIC_API_KEY", "Anthropic"),
  geminiApiKey: providerKey("GEMINI_API_KEY", "Gemini"),
  groqApiKey: providerKey("GROQ_API_KEY", "Groq"),
  cerebrasApiKey: providerKey("CEREBRAS_API_KEY", "Cerebras"),
  deepseekApiKey: providerKey("DEEPSEEK_API_KEY", "DeepSeek"),
  openaiApiKey: providerKey("OPENAI_API_KEY", "OpenAI"),
  name: {
    variable: "COVEY_NAME",
    about: "Name of this node",
    accepts:
      "a name of 1 to 63 letters, digits, blanks, dots, dashes or underscores, and no UUID",
    fallback: null,
    fallbackText: "the host's name",
    parse: (text) => UUID.test(text) ? refuse() : matching(NODE_NAME)(text),
  },
  tier: {
    variable: "COVEY_TIER",
    about:
      "Weight class of this machine, 1 the strongest: long prompts go there first among equals",
    accepts: "1, 2, 3 or auto",
    fallback: null,
    fallbackText: "by hardware",
    parse: orAuto(wholeNumber(1, 3)),
  },
  role: {
    variable: "COVEY_ROLE",
    about: "A controller never runs work itself",
    accepts: "node or controller",
    fallback: "node",
    fallbackText: "node",
    parse: oneOf(ROLES),
  },
  licence: {
    variable: "COVEY_LICENCE",
    about: "Licence for more members than the community quota",
    accepts: "the text of a licence, or the path of its file",
    fallback: null,
    fallbackText: "unset",
    secret: true,
    parse: anySecret,
  },
  databaseUrl: {
    variable: "COVEY_DATABASE_URL",
    about: "PostgreSQL database for the node's durable state",
    accepts: "a postgres:// URL",
    fallback: null,
    fallbackText: "a file in the data folder",
    secret: true,
    later: { feature: "PostgreSQL is" },
    parse: secretUrl(["postgres", "postgresql"]),
  },
  redisUrl: {
    variable: "COVEY_REDIS_URL",
    about: "Redis that health states are mirrored to",
    accepts: "a redis:// or rediss:// URL",
    fallback: null,
    fallbackText: "none",
    secret: true,
    later: { feature: "the Redis mirror is" },
    parse: secretUrl(["redis", "rediss"]),
  },
  engine: {
    variable: "COVEY_ENGINE",
    about: "Which engine runs GGUF files",
    accepts: "auto, embedded, llama-server (found on the PATH) or off",
    fallback: "auto",
    fallbackText: "auto",
    parse: oneOf(ENGINES),
  },
  engineThreads: {
    variable: "COVEY_ENGINE_THREADS",
    about: "Threads of an engine",
    accepts: "auto or a whole number from 1 to 1024",
    fallback: null,
    fallbackText: "auto: cores that are free",
    parse: orAuto(wholeNumber(1, 1_024)),
  },
  slots: {
    variable: "COVEY_SLOTS",
    about: "Requests that an engine runs side by side",
    accepts: "auto or a whole number from 1 to 256",
    fallback: null,
    fallbackText: "auto: 2",
    parse: orAuto(wholeNumber(1, 256)),
  },
  context: {
    variable: "COVEY_CONTEXT",
    about: "Tokens of context a slot has; longer requests are refused",
    accepts: "auto or a whole number from 64 to 16777216",
    fallback: null,
    fallbackText: "auto: the model's own, at most 32768",
    parse: orAuto(wholeNumber(64, 16_777_216)),
  },
  keepAlive: {
    variable: "COVEY_KEEP_ALIVE",
    about: "Idle time before a model leaves memory",
    accepts: DURATION_FORMS,
    fallback: 300_000,
    fallbackText: "5m",
    parse: duration,
  },
  pinned: {
    variable: "COVEY_PINNED",
    about: "Models that stay in memory once they are there",
    accepts: "names of models, separated by commas",
    fallback: [],
    fallbackText: "none",
    parse: listOf(matching(MODEL_NAME), 256),
  },
  drain: {
    variable: "COVEY_DRAIN",
    about: "Time that running answers have to end when the node is stopped",
    accepts: DURATION_FORMS,
    fallback: 30_000,
    fallbackText: "30s",
    parse: duration,
  },
  maxQueue: {
    variable: "COVEY_MAX_QUEUE",
    about: "Requests that may wait for one model",
    accepts: "a whole number from 0 to 100000",
    fallback: 64,
    fallbackText: "64",
    parse: wholeNumber(0, 100_000),
  },
  onBattery: {
    variable: "COVEY_ON_BATTERY",
    about: "Whom a node on battery serves",
    accepts: "local, serve or off",
    fallback: "local",
    fallbackText: "local",
    parse: oneOf(BATTERY),
  },
  logLevel: {
    variable: "COVEY_LOG_LEVEL",
    about: "Least weighty lines of the log",
    accepts: "debug, info, warn or error",
    fallback: "info",
    fallbackText: "info",
    parse: oneOf(LEVELS),
  },
  hfToken: {
    variable: "HF_TOKEN",
    about: "Token of the model hub",
    accepts: "a token on one line",
    fallback: null,
    fallbackText: "unset",
    secret: true,
    parse: anySecret,
  },
  hfEndpoint: {
    variable: "HF_ENDPOINT",
    about: "Address of the model hub",
    accepts: "an http:// or https:// URL",
    fallback: null,
    fallbackText: "https://huggingface.co",
    parse: urlOf(["http", "https"]),
  },
};

function secretUrl(
  schemes: readonly string[],
): Setting<Secret | null>["parse"] {
  return (text) =>
    urlOf(schemes)(text).kind === "accepted" ? anySecret(text) : refuse();
}
