import type { Scope } from "./access.ts";
import type { Handler } from "./context.ts";

/** What a route asks of its caller, and who answers. */
export interface RouteTarget {
  /** `open`: answered to anyone. */
  readonly scope: Scope | "open";
  readonly handle: Handler;
}
