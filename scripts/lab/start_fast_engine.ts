import { type Program, startProgram } from "./program.ts";

/**
 * Start the engine of `fast_engine.ts` in a process of its own; it says its
 * address.
 *
 * @param gapMs Time between the tokens of a stream, in milliseconds.
 */
export function startFastEngine(gapMs: number): Promise<Program> {
  return startProgram([
    Deno.execPath(),
    "run",
    "--allow-net=127.0.0.1",
    new URL("fast_engine.ts", import.meta.url).pathname,
    String(gapMs),
  ]);
}
