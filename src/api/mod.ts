/**
 * HTTP in and out: the routes of a node, who may call them, and the sockets
 * they are served on.
 *
 * @module
 */
export type { AccessRules, ConnectionInfo, Scope } from "./access.ts";
export { type Api, createApi } from "./api.ts";
export type { ApiOptions, Readiness } from "./context.ts";
export type { HandleRequest, ListenAt } from "./deno_server.ts";
export { isLoopback } from "./host_name.ts";
export type { TlsIdentity } from "./tls_identity.ts";
export {
  type Listeners,
  type ListenersOptions,
  openListeners,
  StartError,
} from "./listen.ts";
