import type { Engine, Log, ModelSet, NodeId } from "../domain/mod.ts";
import type { Clock, Entropy } from "../platform/mod.ts";
import type { Corrections } from "./correction.ts";
import type { DecisionLog } from "./decision_log.ts";
import type { DispatchLedger } from "./dispatch_ledger.ts";
import type { NameBook } from "./engine_names.ts";
import type { FreeSlotBell } from "./free_slot_bell.ts";
import type { LengthBook } from "./length_book.ts";
import type { Policy } from "./preference.ts";
import type { PrefixBook } from "./prefix_book.ts";
import type { RouterMetrics } from "./router_metrics.ts";
import type { Standings } from "./standings.ts";

/** The router's state, as far as a request reads and changes it. */
export interface RunContext {
  readonly self: NodeId;
  readonly policy: Policy;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  readonly ledger: DispatchLedger;
  readonly standings: Standings;
  readonly lengths: LengthBook;
  readonly prefixes: PrefixBook;
  /** Names that the operator joined. */
  readonly modelSets: readonly ModelSet[];
  /** How long an idle model is taken to stay loaded, and what it cached with it. */
  readonly keepAliveMs: number;
  readonly decisions: DecisionLog;
  readonly metrics: RouterMetrics;
  readonly bell: FreeSlotBell;
  readonly corrections: Corrections;
  readonly names: NameBook;
  /** This node's engines behind their queues, and the peers'. */
  engines(): readonly Engine[];
}
