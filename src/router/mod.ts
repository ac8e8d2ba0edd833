/**
 * Where a request runs: estimates, placement, queues, and the loop that tries
 * candidates until one has answered. One dispatcher for this node's engines
 * and its peers'.
 *
 * @module
 */
export {
  createRouter,
  type OwnedRouter,
  type RouterOptions,
} from "./router.ts";
export type { Policy } from "./preference.ts";
