/** Runs the engine process by itself, the way `covey engine` does. */
import { runEngineHost } from "../../src/engines/embedded/host/main.ts";

const code = await runEngineHost(Deno.args, {
  stdin: Deno.stdin.readable,
  stdout: Deno.stdout.writable,
  stderr: Deno.stderr.writable,
});
Deno.exit(code);
