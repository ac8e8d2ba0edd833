/**
 * Discovery: finds nodes on the LAN by DNS-SD over multicast DNS and lets them
 * find this one. What it reports are sightings, which prove nothing.
 *
 * @module
 */
export {
  createDiscovery,
  type Discovery,
  type DiscoveryOptions,
  type DiscoveryState,
  type InterfaceTest,
} from "./discovery.ts";
export type {
  InterfaceAddress,
  InterfaceKind,
  InterfaceUse,
  NetworkInterface,
} from "./net/interface.ts";
export { chooseInterfaces, explainChoice, isOnLink } from "./net/interface.ts";
export {
  createDenoInterfaces,
  type ListedAddress,
} from "./net/interfaces_deno.ts";
export { createMulticastDnsOpener } from "./net/multicast_dns_socket.ts";
export type {
  Endpoint,
  MulticastSocket,
  MulticastSocketOptions,
  OpenMulticastSocket,
} from "./net/multicast_socket.ts";
export type { Sighting } from "./sighting.ts";
