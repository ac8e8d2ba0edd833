/**
 * Covey as a library: build a node from a configuration and the ports it may
 * use. Nothing runs on import.
 *
 * ```ts
 * import { createNode } from "@covey/core";
 *
 * await using node = await createNode(options);
 * const response = await node.api.handle(request, connection);
 * ```
 *
 * @module
 */
export type { Api, ConnectionInfo } from "./src/api/mod.ts";
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
} from "./src/config/mod.ts";
export type { ClusterCode, ClusterFactory } from "./src/cluster_slot.ts";
export { createNode, type Node, type NodeOptions } from "./src/node.ts";
