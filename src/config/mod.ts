/**
 * Environment, covey.jsonc and flags in, one frozen configuration out.
 *
 * @module
 */
export { type ApiAccess, findApiAccess } from "./api_access.ts";
export { findPlatformDataDir } from "./folder_path.ts";
export type { BadConfig } from "./given.ts";
export {
  type ConfigLocation,
  locateConfig,
  type MachineFacts,
} from "./locate_config.ts";
export type {
  CommandEngineConfig,
  CommandModelConfig,
  EngineChoice,
  EngineConfig,
  ListenAddress,
  ModelCapabilities,
  NodeConfig,
  ProviderConfig,
  ProviderName,
  SimulatedEngineConfig,
  SimulatedFaults,
  SimulatedModelConfig,
  TlsConfig,
  UpstreamConfig,
  UpstreamsConfig,
} from "./node_config.ts";
export {
  type ConfigResult,
  type ConfigSources,
  parseNodeConfig,
} from "./parse_node_config.ts";
export { describeSettings } from "./describe_settings.ts";
