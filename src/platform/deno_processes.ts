import type { Child, Processes, SpawnOptions } from "./process.ts";

/**
 * Real children.
 *
 * @param self Command line that starts this program again.
 */
export function createDenoProcesses(self: readonly string[]): Processes {
  return { self, spawn };
}

function spawn({ command, env, cwd }: SpawnOptions): Child {
  const [program, ...args] = command;
  if (program === undefined) {
    throw new TypeError("Cannot start an empty command");
  }
  const child = new Deno.Command(program, {
    args,
    env: { ...env },
    clearEnv: true,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
    ...(cwd === undefined ? {} : { cwd }),
  }).spawn();
  return {
    pid: child.pid,
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    exited: child.status.then(({ code, signal }) => ({ code, signal })),
    kill(signal) {
      try {
        child.kill(signal);
      } catch (error) {
        // The child may have gone between the caller's look and this line.
        if (
          !(error instanceof TypeError || error instanceof Deno.errors.NotFound)
        ) throw error;
      }
    },
  };
}
