import type { Fault } from "../domain/mod.ts";

const RATE_LIMITED = new Set<string>(["queue_full", "cooling_down"]);

/**
 * Write a fault as the last event of a stream whose head is already sent, in
 * the internal dialect's shape. No terminator follows it: the answer is not
 * complete.
 *
 * @param fault What went wrong.
 * @returns The event's bytes.
 */
export function errorEvent(fault: Fault): Uint8Array {
  const body = {
    error: {
      message: fault.message,
      type: RATE_LIMITED.has(fault.code) ? "rate_limit_error" : "server_error",
      param: fault.param,
      code: fault.code,
      origin: fault.origin,
    },
  };
  return new TextEncoder().encode(`data: ${JSON.stringify(body)}\n\n`);
}
