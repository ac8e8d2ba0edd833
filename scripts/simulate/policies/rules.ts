import { COVEY, COVEY_EARLY } from "./covey.ts";
import {
  HERD_SCORE,
  LEAST_CONNECTIONS,
  PAIR_RANK,
  POWER_OF_TWO,
  ROUND_ROBIN,
  SMG_LEAST_LOAD,
} from "./peers.ts";
import type { RoutingRule } from "./policy.ts";

/** Every rule that is compared, Covey's first. */
export const RULES: readonly RoutingRule[] = [
  COVEY,
  COVEY_EARLY,
  ROUND_ROBIN,
  LEAST_CONNECTIONS,
  POWER_OF_TWO,
  SMG_LEAST_LOAD,
  PAIR_RANK,
  HERD_SCORE,
];
