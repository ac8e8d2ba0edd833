/**
 * The cluster code: nodes that share a secret find each other on the LAN and
 * do each other's work over mutual TLS. See `LICENSE` in this folder.
 *
 * @module
 */
export { createCluster } from "./src/cluster.ts";
export { actAlone } from "./src/act_alone.ts";
