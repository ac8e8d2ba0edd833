import { z } from "zod";
import type { QueueReport } from "@covey/core/domain";

/** More entries than a device's bounded queue can hold. */
const MAX_ENTRIES = 1024;

const ms = z.number().nonnegative();
const queueSchema = z.object({
  slots: z.number().int().nonnegative().max(MAX_ENTRIES),
  runningMs: z.array(ms).max(MAX_ENTRIES),
  waitingMs: z.array(ms).max(MAX_ENTRIES),
});

/**
 * Read a queue report that a peer sent.
 *
 * @returns The report, or undefined when it is none.
 */
export function parseQueueReport(value: unknown): QueueReport | undefined {
  return queueSchema.safeParse(value).data;
}
