import type { Child, Processes, SpawnOptions } from "./process.ts";

/**
 * Real children.
 *
 * @param self Command line that starts this program again.
 */
export function createDenoProcesses(self: readonly string[]): Processes {
  return { self, spawn };
}

function spawn(
  { command, env, cwd, ownGroup = false }: SpawnOptions,
): Child {
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
    detached: ownGroup,
    ...(cwd === undefined ? {} : { cwd }),
  }).spawn();
  let isGone = false;
  return {
    pid: child.pid,
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    exited: child.status.then(({ code, signal }) => {
      isGone = true;
      // A wrapper's program may outlive it; no other group can have its number as long as one does.
      if (ownGroup) orGone(() => Deno.kill(-child.pid, "SIGKILL"));
      return { code, signal };
    }),
    kill(signal) {
      if (!ownGroup) orGone(() => child.kill(signal));
      else if (!isGone) orGone(() => Deno.kill(-child.pid, signal));
    },
  };
}

/** The child may have gone between the caller's look and the signal. */
function orGone(send: () => void): void {
  try {
    send();
  } catch (error) {
    if (
      !(error instanceof TypeError || error instanceof Deno.errors.NotFound)
    ) throw error;
  }
}
