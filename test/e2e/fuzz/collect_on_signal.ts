/**
 * Loaded before a node under test (`--preload`, with V8's `--expose-gc`): on
 * SIGUSR2 it collects all garbage and writes what is in use after that.
 *
 * @module
 */

declare const gc: () => void;

Deno.addSignalListener("SIGUSR2", () => {
  gc();
  const { external, heapUsed } = Deno.memoryUsage();
  Deno.stderr.writeSync(
    new TextEncoder().encode(
      `In use after collection: ${heapUsed + external}\n`,
    ),
  );
});
